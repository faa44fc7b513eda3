"""A hostile MCP server: its tool `try` does one thing that no server has to do, and says what came of it."""

import ctypes
import errno
import json
import mmap
import os
import socket
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
MACHINE = os.uname().machine
# The numbers of system calls that differ between machines; the newer ones are the same everywhere.
NUMBERS = {
    "x86_64": dict(ptrace=101, mount=165, chroot=161, setns=308, unshare=272, keyctl=250, add_key=248, bpf=321,
                   perf_event_open=298, userfaultfd=323, kexec_load=246, init_module=175, open_by_handle_at=304,
                   name_to_handle_at=303, process_vm_readv=310, reboot=169, sethostname=170, capset=126,
                   clone=56, swapon=167, mknodat=259, prlimit64=302, pivot_root=155),
    "aarch64": dict(ptrace=117, mount=40, chroot=51, setns=268, unshare=97, keyctl=219, add_key=217, bpf=280,
                    perf_event_open=241, userfaultfd=282, kexec_load=104, init_module=105, open_by_handle_at=265,
                    name_to_handle_at=264, process_vm_readv=270, reboot=142, sethostname=161, capset=91,
                    clone=220, swapon=224, mknodat=33, prlimit64=261, pivot_root=41),
}[MACHINE]
NUMBERS.update(io_uring_setup=425, pidfd_open=434, pidfd_getfd=438, fsopen=430, open_tree=428)


def call(name, *arguments):
    fixed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *fixed)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def write(path):
    # Opened for it: what the test shares with others stays whole.
    open(path, "ab").close()


def connect(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as sock:
        sock.connect(address)


def fork_bomb():
    children = []
    try:
        for _ in range(1200):
            pid = os.fork()
            if pid == 0:
                libc.pause()
                os._exit(0)
            children.append(pid)
    finally:
        for pid in children:
            os.kill(pid, 9)
        for pid in children:
            os.waitpid(pid, 0)


def thread_bomb():
    done, threads = threading.Event(), []
    try:
        for _ in range(1200):
            thread = threading.Thread(target=done.wait, daemon=True)
            thread.start()
            threads.append(thread)
    except RuntimeError:
        raise OSError(errno.EAGAIN, "thread")
    finally:
        done.set()
        for thread in threads:
            thread.join()


def memory_bomb():
    # Reserved, not touched: the machine of the test goes on.
    held = [mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000) for _ in range(6)]
    for one in held:
        one.close()


def big_file(folder):
    path = os.path.join(folder, "big")
    with open(path, "wb") as file:
        try:
            os.ftruncate(file.fileno(), 1 << 40)
        finally:
            os.unlink(path)


def file_bomb():
    held = []
    try:
        for _ in range(70000):
            held.append(os.open("/dev/null", os.O_RDONLY))
    finally:
        for fd in held:
            os.close(fd)


def is_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


# Looked at before anything is opened here.
INHERITED = [fd for fd in range(3, 256) if is_open(fd)]


def inherited():
    if not INHERITED:
        raise OSError(errno.EBADF, "nothing but the three streams")


def core_dump():
    # RLIMIT_CORE, unlimited.
    call("prlimit64", 0, 4, (ctypes.c_ulong * 2)(*[2**64 - 1] * 2), 0)


def symlink_out(folder, target):
    link = os.path.join(folder, "way-out")
    os.symlink(target, link)
    try:
        read(link)
    finally:
        os.unlink(link)


def hardlink_out(folder, target):
    link = os.path.join(folder, "hard")
    os.link(target, link)
    try:
        read(link)
    finally:
        os.unlink(link)


def rename_out(folder, target):
    moved = os.path.join(folder, "moved")
    os.rename(target, moved)
    os.rename(moved, target)


def by_handle(path):
    # A handle is asked for a file of our own file system, and opened by its number.
    handle = ctypes.create_string_buffer(struct.pack("II", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, path.encode(), handle, ctypes.byref(mount), 0)
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        os.close(call("open_by_handle_at", root, handle, os.O_RDONLY))
    finally:
        os.close(root)


def steal_descriptor(pid):
    pidfd = call("pidfd_open", pid, 0)
    try:
        os.close(call("pidfd_getfd", pidfd, 0, 0))
    finally:
        os.close(pidfd)


def peek(pid):
    local, remote = (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(1)), 1), (ctypes.c_ulong * 2)(4096, 1)
    try:
        call("process_vm_readv", pid, local, 1, remote, 1, 0)
    except OSError as error:
        # Nothing lies at that address: looking was allowed.
        if error.errno != errno.EFAULT:
            raise


def attach(pid):
    # PTRACE_SEIZE, until the process that does it ends.
    in_child(lambda: call("ptrace", 0x4206, pid, 0, 0))()


def squeeze(pid):
    # Without effect: the limit it has is set again.
    old = (ctypes.c_ulong * 2)()
    call("prlimit64", pid, 7, 0, old)
    call("prlimit64", pid, 7, old, 0)


def type_into_terminal():
    import fcntl
    fcntl.ioctl(0, 0x5412, b"x")


def capable():
    # All that there are.
    call("capset", (ctypes.c_uint * 2)(0x20080522, 0), (ctypes.c_uint * 6)(*[2**32 - 1] * 6))


def namespace():
    pid = os.fork()
    if pid == 0:
        try:
            call("unshare", 0x10000000)  # CLONE_NEWUSER
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    _, status = os.waitpid(pid, 0)
    if os.WEXITSTATUS(status):
        raise OSError(os.WEXITSTATUS(status), "unshare")


def in_child(action):
    """What cannot be taken back is done by a process that ends."""
    def run(**given):
        pid = os.fork()
        if pid == 0:
            try:
                action(**given)
                os._exit(0)
            except OSError as error:
                os._exit(error.errno)
        _, status = os.waitpid(pid, 0)
        if os.WEXITSTATUS(status):
            raise OSError(os.WEXITSTATUS(status), "child")
    return run


def bind_mount(folder):
    call("mount", folder, folder, 0, 4096, 0)
    libc.umount2(folder, 2)


def close_socket(*kind):
    socket.socket(*kind).close()


def make(name, *arguments):
    fd = call(name, *arguments)
    os.close(fd)


def bind(port):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", port))


def made(folder, make):
    """A file that runs as its owner, whoever starts it."""
    path = os.path.join(folder, "set-id")
    try:
        make(path)
        if os.stat(path).st_mode & 0o6000 == 0:
            raise OSError(errno.ENOTSUP, "it has no such bits")
    finally:
        if os.path.exists(path):
            os.unlink(path)


def opened_with(path, mode):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))


def changed_to(path, mode):
    opened_with(path, 0o700)
    os.chmod(path, mode)


def changed_open(path, mode):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o700)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def shared_memory():
    # IPC_PRIVATE, and its removal.
    shmget = {"x86_64": 29, "aarch64": 194}[MACHINE]
    key = libc.syscall(ctypes.c_long(shmget), ctypes.c_long(0), ctypes.c_long(4096), ctypes.c_long(0o600))
    if key < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    libc.shmctl(key, 0, None)


def posix_queue():
    # mq_open of a new one, and its removal.
    mq_open, mq_unlink = {"x86_64": (240, 241), "aarch64": (180, 181)}[MACHINE]
    fd = libc.syscall(ctypes.c_long(mq_open), b"tl-escape", ctypes.c_long(os.O_CREAT | os.O_RDWR), ctypes.c_long(0o600), None)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    os.close(fd)
    libc.syscall(ctypes.c_long(mq_unlink), b"tl-escape")


def through_proxy(place, timeout=None):
    """A tunnel to a host, as programs make one that heed HTTPS_PROXY."""
    host, port = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    with socket.socket() as sock:
        sock.settimeout(timeout)
        sock.connect((host, int(port)))
        sock.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        head = sock.recv(4096)
        if b" 403 " in head:
            raise OSError(errno.EACCES, "refused")
        if b" 200 " not in head:
            raise OSError(errno.ECONNREFUSED, head.decode())
        sock.sendall(b"ping")
        if sock.recv(4) != b"pong":
            raise OSError(errno.EPROTO, "not what was asked")


def plain_request(place):
    """A request with a whole address, as programs make one that heed HTTP_PROXY."""
    import urllib.request
    with urllib.request.urlopen(f"http://{place}/x", timeout=10) as answer:
        answer.read()


def direct(place):
    host, port = place.rsplit(":", 1)
    socket.create_connection((host, int(port)), timeout=5).close()


def fast_open(place):
    host, port = place.rsplit(":", 1)
    with socket.socket() as sock:
        sock.sendto(b"ping", socket.MSG_FASTOPEN, (host, int(port)))


def listening():
    with socket.socket() as sock:
        sock.listen()


ROWS = {
    "read-key": lambda p: read(p["key"]),
    "read-admin-token": lambda p: read(p["admin_token"]),
    "read-store": lambda p: read(p["store"]),
    "read-config": lambda p: read(p["config"]),
    "read-ssh-key": lambda p: read(p["home"] + "/.ssh/id"),
    "read-aws": lambda p: read(p["home"] + "/.aws/credentials"),
    "read-documents": lambda p: read(p["home"] + "/documents/letter"),
    "read-shadow": lambda p: read("/etc/shadow"),
    "read-environment-of-sibling": lambda p: read(f"/proc/{p['sibling']}/environ"),
    "read-arguments-of-sibling": lambda p: read(f"/proc/{p['sibling']}/cmdline"),
    "read-memory-of-sibling": lambda p: read(f"/proc/{p['sibling']}/maps"),
    "read-environment-of-trunkline": lambda p: read(f"/proc/{p['trunkline']}/environ"),
    "read-through-proc-root": lambda p: read("/proc/self/root" + p["key"]),
    "read-through-a-symlink": lambda p: symlink_out(p["work"], p["key"]),
    "read-through-a-hard-link": lambda p: hardlink_out(p["work"], p["key"]),
    "read-by-handle": lambda p: by_handle(p["admin_token"]),
    "move-the-key": lambda p: rename_out(p["work"], p["key"]),
    "write-store": lambda p: write(p["store"]),
    "write-config": lambda p: write(p["config"]),
    "write-bashrc": lambda p: write(p["home"] + "/.bashrc"),
    "write-system": lambda p: (write("/usr/local/tl-escape"), os.unlink("/usr/local/tl-escape")),
    "write-shared-tmp": lambda p: (write("/tmp/tl-escape"), os.unlink("/tmp/tl-escape")),
    "cut-the-key-short": lambda p: os.truncate(p["key"], os.stat(p["key"]).st_size),
    "trace-sibling": lambda p: attach(p["sibling"]),
    "trace-trunkline": lambda p: attach(p["trunkline"]),
    "read-process-memory": lambda p: peek(p["sibling"]),
    "steal-a-descriptor": lambda p: steal_descriptor(p["trunkline"]),
    "signal-sibling": lambda p: os.kill(p["sibling"], 0),
    "signal-trunkline": lambda p: os.kill(p["trunkline"], 0),
    "signal-keeper": lambda p: os.kill(p["keeper"], 0),
    "limit-trunkline": lambda p: squeeze(p["trunkline"]),
    "renice-trunkline": lambda p: os.setpriority(os.PRIO_PROCESS, p["trunkline"], os.getpriority(os.PRIO_PROCESS, p["trunkline"])),
    "connect-socket": lambda p: connect(p["socket"]),
    "connect-abstract-socket": lambda p: connect("\0" + p["abstract"]),
    "datagram-to-a-path": lambda p: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", p["datagrams"]),
    "raw-socket": lambda p: close_socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packet-socket": lambda p: close_socket(socket.AF_PACKET, socket.SOCK_RAW, 0),
    "audit-netlink": lambda p: close_socket(socket.AF_NETLINK, socket.SOCK_RAW, 9),
    "bind-our-port": lambda p: bind(p["port"]),
    "mount": lambda p: in_child(lambda: bind_mount(p["work"].encode()))(),
    "new-mount-interface": lambda p: make("fsopen", b"tmpfs", 1),
    "chroot": lambda p: in_child(lambda: call("chroot", b"/"))(),
    "new-user-namespace": lambda p: namespace(),
    "enter-namespace": lambda p: in_child(lambda: call("setns", 0, 0))(),
    "become-another-user": lambda p: in_child(lambda: os.setuid(12345))(),
    "take-capabilities": lambda p: in_child(capable)(),
    "make-a-device": lambda p: (os.mknod(p["work"] + "/dev", 0o20600, os.makedev(1, 3)), os.unlink(p["work"] + "/dev")),
    "bpf": lambda p: make("bpf", 0, (ctypes.c_uint * 18)(2, 4, 4, 1), 72),
    "perf": lambda p: make("perf_event_open", (ctypes.c_ulong * 14)(112 << 32 | 1), 0, -1, -1, 0),
    "keyring": lambda p: call("keyctl", 0, -3, 1),
    "userfaultfd": lambda p: make("userfaultfd", 1),
    "io-uring": lambda p: make("io_uring_setup", 1, (ctypes.c_uint * 30)()),
    "kexec": lambda p: call("kexec_load", 0, 0, 0, 0),
    "load-module": lambda p: call("init_module", 0, 0, b""),
    "rename-machine": lambda p: call("sethostname", os.uname().nodename.encode(), len(os.uname().nodename)),
    "core-dump": lambda p: in_child(core_dump)(),
    "type-into-a-terminal": lambda p: type_into_terminal(),
    "fork-bomb": lambda p: fork_bomb(),
    "thread-bomb": lambda p: thread_bomb(),
    "memory-bomb": lambda p: memory_bomb(),
    "fill-the-disk": lambda p: big_file(p["work"]),
    "open-files-bomb": lambda p: file_bomb(),
    "inherit-a-descriptor": lambda p: inherited(),
    "set-user-id": lambda p: made(p["work"], lambda path: changed_to(path, 0o4755)),
    "set-group-id": lambda p: made(p["work"], lambda path: changed_open(path, 0o2755)),
    "open-set-user-id": lambda p: made(p["work"], lambda path: opened_with(path, 0o4755)),
    "mknod-set-user-id": lambda p: made(p["work"], lambda path: os.mknod(path, 0o104755)),
    "posix-queue": lambda p: posix_queue(),
    "shared-memory": lambda p: shared_memory(),
    "write-documents": lambda p: (write(p["home"] + "/documents/new"), os.unlink(p["home"] + "/documents/new")),
    "own-number": lambda p: read(f"/proc/{os.getpid()}/stat"),
    "read-place": lambda p: read(p["place"]),
    "write-place": lambda p: write(p["place"]),
    "replace-place": lambda p: os.rename(p["work"] + "/mine", p["place"]),
    "through-proxy": lambda p: through_proxy(p["place"]),
    "through-proxy-in-time": lambda p: through_proxy(p["place"], 10),
    "plain-request": lambda p: plain_request(p["place"]),
    "direct": lambda p: direct(p["place"]),
    "fast-open": lambda p: fast_open(p["place"]),
    "listen": lambda p: listening(),
    "resolve": lambda p: socket.getaddrinfo("example.com", 443),
    # What must go on working.
    "fine-read-system": lambda p: read("/etc/hosts"),
    "fine-write-work": lambda p: (write(p["work"] + "/fine"), os.unlink(p["work"] + "/fine")),
    "fine-write-tmp": lambda p: write(os.environ["TMPDIR"] + "/fine"),
    "fine-tcp": lambda p: close_socket(socket.AF_INET, socket.SOCK_STREAM),
    "fine-udp": lambda p: close_socket(socket.AF_INET6, socket.SOCK_DGRAM),
    "fine-socketpair": lambda p: socket.socketpair(),
    "fine-child": lambda p: in_child(lambda: None)(),
    "fine-thread": lambda p: threading.Thread(target=lambda: None).start(),
    "fine-own-process": lambda p: read("/proc/self/status"),
    "fine-resolver": lambda p: socket.getaddrinfo("localhost", 80),
    "fine-modes": lambda p: (changed_to(p["work"] + "/mode", 0o755), os.unlink(p["work"] + "/mode")),
    "fine-fifo": lambda p: (os.mkfifo(p["work"] + "/fifo"), os.unlink(p["work"] + "/fifo")),
    "complain": lambda p: print(f"PermissionError: [Errno 13] Permission denied: '{p['home']}/x'", file=sys.stderr, flush=True),
}


def attempt(arguments):
    try:
        ROWS[arguments["what"]](arguments)
        return "done"
    except OSError as error:
        # As any program says it that fails.
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return errno.errorcode.get(error.errno, str(error.errno))
    except MemoryError:
        print("MemoryError", file=sys.stderr, flush=True)
        return "ENOMEM"


def answer(message):
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "try", "inputSchema": {"type": "object"}},
                          {"name": "rows", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        text = "\n".join(ROWS) if message["params"]["name"] == "rows" else attempt(message["params"]["arguments"])
        return {"content": [{"type": "text", "text": text}]}
    return {}


if __name__ == "__main__":
    if sys.argv[1:2] == ["fail"]:
        sys.exit(f"PermissionError: [Errno 13] Permission denied: '{sys.argv[2]}'")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            if request["method"] == "server/discover":
                reply = {"error": {"code": -32601, "message": "unknown"}}
            else:
                reply = {"result": answer(request)}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
