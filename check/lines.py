"""Notes which lines of a charm's own code its hooks run, for a check of that charm.

Python imports this when it starts, by a .pth file in the user's site-packages, which
PYTHONUSERBASE says in the hooks of a check. It is there whatever a dispatch makes of
PYTHONPATH. A hook never fails by it: what it can't do it leaves.
"""

import atexit
import os
import sys

# What lies beside lib/pythonX.Y/site-packages/unitd_lines.py.
BASE = os.path.abspath(os.path.join(__file__, "..", "..", "..", ".."))
OWN = ("src", "hooks", "lib", "actions", "reactive", "dispatch")
MAX_SOURCE = 1 << 20
TOOL = 4  # of those that sys.monitoring has for anybody


class Lines:
    """The lines that have run in this process."""

    def __init__(self, charm):
        self.given = os.path.abspath(charm)
        self.charm = os.path.realpath(charm)
        self.paths = {}  # of the charm's own files, by the names that code has; None: not its own
        self.ran = {}  # by paths in the charm: lines that aren't written yet
        self.written = 0

    def watch(self):
        """Have every line of the charm's own code noted."""
        if hasattr(sys, "monitoring"):
            self.monitor()
        else:
            self.trace()

    def monitor(self):
        """Have each line noted once: that costs next to nothing."""
        monitoring = sys.monitoring
        events, disable = monitoring.events, monitoring.DISABLE
        monitoring.use_tool_id(TOOL, "unitd check")

        def started(code, _offset):
            try:
                if self.own(code.co_filename):
                    monitoring.set_local_events(TOOL, code, events.LINE)
            except Exception:
                pass
            return disable

        def line(code, number):
            try:
                self.ran.setdefault(self.paths[code.co_filename], set()).add(number)
            except Exception:
                pass
            return disable

        monitoring.register_callback(TOOL, events.PY_START, started)
        monitoring.register_callback(TOOL, events.LINE, line)
        monitoring.set_events(TOOL, events.PY_START)

    def trace(self):
        """Have each line noted each time; and Python asks of each call of a function whether it's one of the charm's."""
        import threading

        def started(frame, _event, _arg):
            try:
                return line if self.own(frame.f_code.co_filename) else None
            except Exception:
                return None

        def line(frame, event, _arg):
            try:
                if event == "line":
                    self.ran.setdefault(self.paths[frame.f_code.co_filename], set()).add(frame.f_lineno)
            except Exception:
                pass
            return line

        threading.settrace(started)
        sys.settrace(started)

    def own(self, name):
        """Return the path in the charm of one of its own files, or None."""
        if name not in self.paths:
            path = None
            full = os.path.abspath(name)
            if name[:1] != "<" and full.startswith((self.given + os.sep, self.charm + os.sep)):
                full = os.path.realpath(full)
                if full.startswith(self.charm + os.sep):
                    path = full[len(self.charm) + 1 :]
            self.paths[name] = path if path and is_own(path) else None
        return self.paths[name]

    def write(self):
        """Write down what has run since the last time."""
        try:
            ran, self.ran = self.ran, {}
            if ran:
                self.tell({path: sorted(lines) for path, lines in ran.items()})
        except Exception:
            pass

    def end(self):
        """Write the last lines: nothing is noted while Python ends."""
        if hasattr(sys, "monitoring"):
            for event in ("PY_START", "LINE"):
                sys.monitoring.register_callback(TOOL, getattr(sys.monitoring.events, event), None)
        else:
            sys.settrace(None)
        self.write()

    def tell(self, ran):
        """Write what of the lines in the charm's files has run, and once what there is of each."""
        found = {}
        for path in sorted(set(ran) | set(self.sources())):
            source = read(os.path.join(self.charm, path))
            if source is None:
                continue
            of = digest(source)
            code = os.path.join(BASE, "code", digest((path + of).encode()) + ".json")
            if not os.path.exists(code):
                put(code, {"file": path, "of": of, "code": lines_of(source)})
            if path in ran:
                found[path] = {"of": of, "lines": ran[path]}
        self.written += 1
        name = "%d-%d-%s.json" % (os.getpid(), self.written, os.urandom(6).hex())
        put(os.path.join(BASE, "ran", name), {"unit": os.environ["JUJU_UNIT_NAME"], "files": found})

    def sources(self):
        """Return the charm's own files with Python."""
        for at, directories, names in os.walk(self.charm):
            inside = at[len(self.charm) + 1 :]
            directories[:] = [d for d in directories if is_own(os.path.join(inside, d, "x")) and d != "__pycache__"]
            for name in names:
                path = os.path.join(inside, name)
                if is_own(path) and not os.path.islink(os.path.join(at, name)) and is_python(os.path.join(at, name)):
                    yield path


def is_own(path):
    """Say whether a path in the charm is its own code, rather than what it was packed with."""
    parts = path.split(os.sep)
    return parts[0] in OWN and parts[:2] != ["lib", "charms"]


def is_python(path):
    if path.endswith(".py"):
        return True
    source = read(path)
    return source is not None and source[:2] == b"#!" and b"python" in source.split(b"\n", 1)[0]


def read(path):
    try:
        if os.path.getsize(path) > MAX_SOURCE:
            return None
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def digest(of):
    import hashlib

    return hashlib.sha256(of).hexdigest()


def lines_of(source):
    """Return the lines that code was made of, but for what only type checkers read."""
    import ast
    import dis
    import warnings

    lines, passed = set(), set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            left = [compile(source, "charm", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    while left:
        code = left.pop()
        lines.update(line for _, line in dis.findlinestarts(code) if line)
        left.extend(constant for constant in code.co_consts if isinstance(constant, type(code)))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", ""), getattr(node.test, "attr", "")):
            passed.update(range(node.body[0].lineno, node.body[-1].end_lineno + 1))
    return sorted(lines - passed)


def put(path, what):
    """Write a file whole, or not at all."""
    import json

    new = "%s.%d-%s" % (path, os.getpid(), os.urandom(6).hex())
    with open(new, "w") as file:
        json.dump(what, file)
    os.chmod(new, 0o644)  # the hook may be another user's than the check
    os.replace(new, path)


def write_before(name, lines):
    """Have lines written before a function of os, as nothing runs after it."""
    call = getattr(os, name)

    def first_written(*args, **kwargs):
        lines.write()
        return call(*args, **kwargs)

    first_written.__name__ = name
    setattr(os, name, first_written)


def leave_user_site():
    """Have it as if the user's site-packages were where they always are."""
    here = os.path.dirname(__file__)
    sys.path[:] = [path for path in sys.path if path != here]
    usual = os.path.join(os.path.expanduser("~"), ".local", "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    if os.path.isdir(usual):
        import site

        site.addsitedir(usual)
    if any(os.path.basename(word).startswith("pip") for word in getattr(sys, "orig_argv", [])[:4]):
        del os.environ["PYTHONUSERBASE"]  # where it would install packages to


def begin():
    leave_user_site()
    charm = os.environ.get("JUJU_CHARM_DIR")
    if not charm or not os.environ.get("JUJU_UNIT_NAME"):
        return
    if sys.version_info < (3, 8):
        with open(os.path.join(BASE, "ran", "old"), "w"):
            return
    lines = Lines(charm)
    lines.watch()
    atexit.register(lines.end)
    for name in ("execv", "execve", "_exit"):
        write_before(name, lines)


try:
    begin()
except Exception:
    pass
