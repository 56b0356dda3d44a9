#!/usr/bin/env bash
# Builds the tests' own environment: the pinned SGLang on a CPU, and a .pth file that adds the stand-ins in site/.
# usage: install.sh VENV [PYTHON]     about 1.5 to 3 minutes, 2.5 GB
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$1
python=${2:-python3.11}

pip_install() {  # --no-deps: the list is complete, and what SGLang itself asks for is CUDA
  nice -n 10 "$venv/bin/pip" install --quiet --progress-bar off --disable-pip-version-check --no-deps "$@" \
    2> >(grep -v '^WARNING: Location' >&2)
}

"$python" -c 'import sys; sys.version_info[:2] == (3, 11) or sys.exit("the pins are for Python 3.11: set ENGINE_PYTHON")'
rm -rf "$venv"
"$python" -m venv "$venv"
torch=$(grep '^torch==' "$here/pins.txt")
# A machine whose package index does not carry the CPU build takes it from PyTorch's own index.
pip_install "$torch" 2>/dev/null || pip_install --extra-index-url https://download.pytorch.org/whl/cpu "$torch"
pip_install -r "$here/pins.txt"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\nimport engine_env_defaults\n' "$here/site" > "$site/engine_env.pth"
"$venv/bin/python" -c 'import engine_env_defaults, sgl_kernel, torchvision, sglang'
