#!/usr/bin/env bash
# Names the programs and libraries without which tests are skipped, with the command that installs them; with
# --packages the Debian packages alone, one a line.
set -euo pipefail
packages=()
command -v tshark >/dev/null || packages+=(tshark)
{ command -v chromium || command -v chromium-browser; } >/dev/null || packages+=(chromium)
{ compgen -G "/usr/lib/postgresql/*/bin/postgres" || command -v postgres; } >/dev/null || packages+=(postgresql)
{ command -v nft || [[ -x /usr/sbin/nft ]]; } >/dev/null || packages+=(nftables)
command -v zsh >/dev/null || packages+=(zsh)
command -v fish >/dev/null || packages+=(fish)
[[ -e /usr/include/infiniband/verbs.h ]] || packages+=(libibverbs-dev)
if [[ ${1-} == --packages ]]; then
    ((${#packages[@]} == 0)) || printf '%s\n' "${packages[@]}"
elif ((${#packages[@]})); then
    echo "warning: not installed: ${packages[*]}; the tests that need it are skipped" >&2
    echo "hint: sudo apt-get install --no-install-recommends ${packages[*]}" >&2
fi
