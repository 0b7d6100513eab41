"""The main job: check content/, write a release to dist/. The same as `shopwindow
build`.
"""

import sys

from shopwindow.__main__ import main

if __name__ == "__main__":
    sys.argv[1:1] = ["build"]
    main()
