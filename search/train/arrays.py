"""Where the numbers are: on the processor with numpy, or on a GPU with cupy where there is one.

The recipe is the same, and chance is drawn by numpy on both; sums round otherwise on a GPU.
"""
import numpy as np


def gpu():
    try:
        import cupy
        import cupyx.scipy.sparse

        return cupy if cupy.cuda.runtime.getDeviceCount() > 0 else None
    except Exception:  # not installed, or no driver for it
        return None


xp = gpu() or np
ON_GPU = xp is not np


def plain(array):
    """As numpy has it."""
    return xp.asnumpy(array) if ON_GPU else array


def rows_of(bags):
    """A scipy matrix, where the numbers are."""
    if not ON_GPU:
        return bags
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(bags)
