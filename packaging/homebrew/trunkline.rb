# Filled in by `cargo xtask dist --url URL`: it promises the platforms that there are programs for, and no others.
class Trunkline < Formula
  desc "One MCP endpoint in front of every MCP server"
  homepage "@URL@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
@PLATFORMS@
  def install
    bin.install "trunkline"
    bin.install_symlink bin/"trunkline" => "mcp-simple-aggregator"
    bash_completion.install "share/bash-completion/completions/trunkline"
    zsh_completion.install "share/zsh/vendor-completions/_trunkline"
    fish_completion.install "share/fish/vendor_completions.d/trunkline.fish"
    man1.install Dir["share/man/man1/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/trunkline --version")
  end
end
