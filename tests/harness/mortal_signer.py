"""Publishers that sign and are killed: each is a process of its own, forked from this one, which has read the program.

For each line on standard input, a publisher is started: {"target", "out", "keys"}, and when it is killed with SIGKILL:
around its operation on the target of number "point", before it or after ("passes"), or "after" so many seconds. What
became of it is a line on standard output: {"killed"}, or {"operations"}, how many it needed.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

from shopwindow.delivery import publishing
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.keys import KeySource
from shopwindow.delivery.outgoing import outgoing
from shopwindow.delivery.publishing import PublishOptions
from shopwindow.delivery.signing import Signing
from shopwindow.delivery.targets import opened, parse


class Mortal:
    """A target around one of whose operations this process ends."""

    def __init__(self, bucket: Any, point: int, passes: bool) -> None:
        self._bucket, self._point, self._passes = bucket, point, passes
        self._lock = threading.Lock()
        self.operations = 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._bucket, name)
        return self._counted(value) if callable(value) else value

    def _counted(self, operation: Any) -> Any:
        def run(*arguments: Any) -> Any:
            with self._lock:
                self.operations += 1
                is_last = self.operations == self._point
            if is_last and not self._passes:
                os.kill(os.getpid(), signal.SIGKILL)
            result = operation(*arguments)
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return run


def publish(order: dict[str, Any]) -> int:
    """Publish and sign; return how many operations on the target that took."""
    keys = Path(order["keys"])
    target = Mortal(opened(parse(order["target"]), os.environ), order.get("point", 0), order.get("passes", False))
    options = PublishOptions(force=True, signing=Signing(keys, KeySource(keys, {})))
    publishing.publish(outgoing(Path(order["out"])), cast("Bucket", target), options)
    return target.operations


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writer, str(publish(order)).encode())
            finally:
                os._exit(0)
        os.close(writer)
        if after := order.get("after"):
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        operations = os.read(reader, 100)
        os.close(reader)
        assert operations or os.WIFSIGNALED(status), f"the publisher of {line} failed"
        outcome = {"operations": int(operations)} if operations else {"killed": True}
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
