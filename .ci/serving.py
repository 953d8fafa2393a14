"""A bridge over a file, for as long as a test needs it."""

import json
import subprocess
import time


class Served:
    """The running program and what its ready line says."""

    def __init__(self, program, file, *arguments):
        began = time.monotonic()
        self.process = subprocess.Popen(
            [program, "serve", file, "ws_port=0", "mcp_port=0", "project=none", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        self.ready_after = time.monotonic() - began
        try:
            self.ready = json.loads(line)
            assert self.ready["event"] == "ready", line
        except BaseException:
            self.process.kill()
            raise

    def stop(self):
        """Ends it the way a service manager does; it must end well."""
        self.process.terminate()
        status = self.process.wait(timeout=20)
        assert status == 0, f"SIGTERM ended the bridge with {status}"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.stop()
        else:
            self.process.kill()
            self.process.wait()
