"""A Python that stands ready for the hooks of one unit.

It has imported what the charm's hooks import, and forks a process for each of them,
which then runs the charm's script as "python3 SCRIPT" would. The program python3 beside
this file starts it, asks it, and waits for the end; docs/warm-python.md says what the
two say to each other, and what a charm could tell.

Its file 3 is the socket that it listens on. Its argument is the key, which says what all
requests that this process may serve have in common; a second one, "cold", that it is to
import nothing before it forks.
"""

import array
import gc
import os
import signal
import socket
import struct
import sys

LISTENER = 3
LEARN = 60  # seconds for importing what a script has imported
SAYS = 60 << 10  # bytes that a child says of what it has imported: less than a pipe holds
IDLE = 60  # seconds without a hook until it ends
LOOK = 1  # seconds between two looks at whether it is still wanted
MOST = 64  # requests at once
LARGEST = 16 << 20  # bytes of a request


class Stale(Exception):
    """What was imported isn't what is there now."""


class Request:
    """One script to be run: who asked, and what for."""

    def __init__(self, conn, fields, fds):
        self.conn = conn
        self.fds = fds
        cwd, umask, caller, count = fields[1:5]
        self.cwd, self.umask, self.caller = cwd, int(umask, 8), int(caller)
        rest = fields[5:]
        self.args = [os.fsdecode(a) for a in rest[: int(count)]]
        self.environ = rest[int(count) :]


def receive(conn):
    """The fields and files of a request, or None if who asked has gone."""
    conn.settimeout(10)
    data, fds, size = b"", array.array("i"), None
    while size is None or len(data) < size + 4:
        chunk, ancillary, _, _ = conn.recvmsg(1 << 16, socket.CMSG_SPACE(3 * fds.itemsize))
        for level, kind, files in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(files[: len(files) - len(files) % fds.itemsize])
        if not chunk:
            break
        data += chunk
        if size is None and len(data) >= 4:
            (size,) = struct.unpack("<I", data[:4])
            if size > LARGEST:
                break
    for fd in fds:
        os.set_inheritable(fd, False)
    if size is None or len(data) != size + 4 or len(fds) != 3:
        for fd in fds:
            os.close(fd)
        return None
    return data[4:].split(b"\0"), list(fds)


class Zygote:
    """The process that stands ready."""

    def __init__(self, listener, key, warm):
        self.key = os.fsencode(key)
        self.warm = warm
        self.home = os.path.abspath(__file__)
        self.files = {}  # what was imported, and how it was then
        self.children = {}  # pid -> (connection, pipe of what it has imported)
        self.spoilt = False  # it has what no script may begin with, see learn
        self.listener = listener
        self.woken, wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.wake = wake

    def serve(self):
        """Serve until nobody has asked for long."""
        import select

        waited = 0
        while waited < IDLE:
            watched = [self.woken] + [c for c, _ in self.children.values() if c]
            if self.listener and not self.spoilt:
                watched.append(self.listener)
            elif not self.listener and not self.children:
                return
            ready, _, _ = select.select(watched, [], [], LOOK)
            waited = 0 if ready or self.children else waited + LOOK
            if not os.path.exists(self.home):
                self.close()
            for one in ready:
                if one is self.listener:
                    self.accept()
                elif one == self.woken:
                    drain(self.woken)
                else:
                    self.left(one)
            self.reap()
            if self.listener and self.spoilt and not self.children:
                self.begin_again()

    def begin_again(self):
        """Be one that imports nothing beforehand: it can't for this script."""
        os.set_inheritable(LISTENER, True)
        os.execv(sys.executable, [sys.executable, self.home, os.fsdecode(self.key), "cold"])

    def close(self):
        """Take no more requests: this is over when the scripts are that run."""
        if self.listener:
            self.listener.close()
            self.listener = None

    def accept(self):
        if not self.listener:
            return  # closed since it was ready
        conn, _ = self.listener.accept()
        try:
            self.answer(conn)
        except (OSError, ValueError, IndexError):
            conn.close()
        except Stale as e:
            # Who asks next starts another one, which imports what is there now.
            self.close()
            refuse(conn, "stale", e)

    def answer(self, conn):
        pid, uid, _ = struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        # Who is in another pid name space has no number here.
        if pid == 0 or uid != os.geteuid() or len(self.children) >= MOST or measured():
            return refuse(conn, "no", "not for you, or not now")
        got = receive(conn)
        if not got:
            return conn.close()
        fields, fds = got
        try:
            if fields[0] != self.key:
                return refuse(conn, "no", "another key")
            self.unchanged()
            request = Request(conn, fields, fds)
            conn.sendall(b"ready\n")
            if conn.recv(16) != b"go\n":  # who asked has given up, and runs it himself
                return conn.close()
            self.fork(request)
        finally:
            for fd in fds:
                os.close(fd)

    def unchanged(self):
        """Raise Stale if a file that was imported is another one now."""
        for path, was in self.files.items():
            if look(path) != was:
                raise Stale(path)

    def fork(self, request):
        names, say = os.pipe()
        try:
            pid = os.fork()
        except OSError as e:
            os.close(names)
            os.close(say)
            return refuse(request.conn, "no", e)
        if pid == 0:
            code = 1
            try:
                os.close(names)
                self.listener.close()
                for conn, pipe in self.children.values():
                    if conn:
                        conn.close()
                    os.close(pipe)
                code = run(request, say, [self.woken, self.wake])
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(say)
        self.children[pid] = (request.conn, names)
        request.conn.settimeout(1)
        try:
            request.conn.sendall(b"pid %d\n" % pid)
        except OSError:
            pass  # who asked has gone, as serve will see

    def left(self, conn):
        """Who waits for a child has gone, or says something, which nobody does."""
        for pid, (c, pipe) in self.children.items():
            if c is conn:
                kill(pid)
                self.children[pid] = (None, pipe)
        conn.close()

    def reap(self):
        """Say of the children that have ended how they have."""
        while self.children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            conn, names = self.children.pop(pid, (None, None))
            if conn:
                how = b"signal %d\n" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else b"exit %d\n" % os.WEXITSTATUS(status)
                try:
                    conn.sendall(how)
                except OSError:
                    pass
                conn.close()
            if names is not None:
                signal.alarm(LEARN)  # which ends it: what hangs here holds up all hooks
                self.learn(names)
                signal.alarm(0)

    def learn(self, pipe):
        """Import what a child has imported, from where the charm's own code isn't."""
        data = b""
        os.set_blocking(pipe, False)
        try:
            while chunk := os.read(pipe, 1 << 16):
                data += chunk
        except BlockingIOError:
            pass  # what the child has left running has it too
        os.close(pipe)
        if not self.warm or self.spoilt:
            return
        # name, file and state of each module, as the child has found them
        found = dict(line.split("\0", 1) for line in os.fsdecode(data).split("\n") if "\0" in line)
        new = [name for name in found if name not in sys.modules]
        if not new:
            return
        had = set(sys.modules)
        for name in new:
            try:
                __import__(name)
            except BaseException:  # it is the script's trouble, if it imports it as well
                pass
        for name in set(sys.modules) - had:
            path = getattr(sys.modules[name], "__file__", None)
            if not path:
                continue
            is_now = look(path)
            if name in found and found[name] != f"{path}\0{is_now}":
                self.spoilt = True  # another module of that name, or another file by now
            self.files[path] = is_now
        # A fork would lose a thread.
        self.spoilt = self.spoilt or len(os.listdir("/proc/self/task")) > 1
        gc.collect()
        gc.freeze()


def measured():
    """Say whether this interpreter was told, as it started, to watch what it runs."""
    return bool(sys.gettrace() or sys.getprofile() or os.environ.get("COVERAGE_PROCESS_START"))


def own_directories(charm, script):
    """Where the charm's own code is: it is imported by each hook anew."""
    roots = {charm, os.path.realpath(charm)}
    own = [os.path.join(root, d) + os.sep for root in roots for d in ("src", "lib", "hooks", "actions")]
    return tuple(own + [os.path.dirname(os.path.abspath(script)) + os.sep, os.path.dirname(os.path.realpath(script)) + os.sep])


def look(path):
    try:
        st = os.stat(path)
    except OSError:
        return None
    return st.st_dev, st.st_ino, st.st_mtime_ns, st.st_ctime_ns, st.st_size


def drain(fd):
    try:
        while os.read(fd, 4096):
            pass
    except BlockingIOError:
        pass


def refuse(conn, word, why):
    try:
        conn.sendall(os.fsencode(f"{word} {why}\n"))
    except OSError:
        pass
    conn.close()


def kill(pid):
    """End a child, and what it has in its process group."""
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except OSError:
            pass


def enter(caller):
    """Move to the control group of the hook, where there is one and it can be."""
    try:
        with open("/proc/self/mounts") as f:
            root = next(m[1] for m in map(str.split, f) if m[2] == "cgroup2")
        with open(f"/proc/{caller}/cgroup") as f:
            path = next(line for line in f if line.startswith("0::"))[3:].strip()
        with open(root + path + "/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
    except (OSError, ValueError, StopIteration):
        pass


def run(request, say, close):
    """Be the script's process, and return its exit code."""
    os.setpgid(0, 0)
    enter(request.caller)
    signal.set_wakeup_fd(-1)
    for n in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(n, signal.SIG_DFL)
    for fd in close:
        os.close(fd)
    for i, fd in enumerate(request.fds):
        os.dup2(fd, i)
        os.close(fd)
    os.close(request.conn.detach())
    os.set_blocking(say, False)
    os.umask(request.umask)
    os.chdir(request.cwd)
    for name in list(os.environb):
        del os.environb[name]
    for v in request.environ:
        name, _, value = v.partition(b"=")
        os.environb[name] = value
    script = request.args[0]
    sys.argv[:] = request.args
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    own = own_directories(os.environ.get("JUJU_CHARM_DIR") or os.getcwd(), script)
    before = set(sys.modules)
    code = execute(script)
    try:
        new = [(name, m) for name, m in list(sys.modules.items()) if name not in before]
        lines = [f"{name}\0{path}\0{look(path)}\n" for name, m in new for path in [learnt(m, own)] if path]
        while lines and len(os.fsencode("".join(lines))) > SAYS:
            del lines[len(lines) * 3 // 4 :]
        os.write(say, os.fsencode("".join(lines)))
    except (OSError, ValueError):
        pass
    return code


def learnt(module, own):
    """The file of a module that isn't the charm's own, or nothing."""
    path = getattr(module, "__file__", None)
    if not path or not getattr(module, "__spec__", None) or not os.path.isabs(path) or path.startswith(own):
        return None
    return path


def execute(script):
    """Run the script as the interpreter would, up to the end of the process."""
    import atexit
    import threading
    import types
    from importlib.machinery import SourceFileLoader

    if sys.version_info >= (3, 9):
        script = os.path.abspath(script)
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=script, __builtins__=__builtins__, __loader__=SourceFileLoader("__main__", script), __cached__=None
    )
    sys.modules["__main__"] = main
    code = 0
    try:
        with open(script, "rb") as f:
            source = f.read()
        exec(compile(source, script, "exec"), main.__dict__)
    except SystemExit as e:
        code = e.code
    except BaseException:
        kind, value, trace = sys.exc_info()
        value = value.with_traceback(trace.tb_next)  # without this function
        code = 130 if kind is KeyboardInterrupt else 1
        try:
            sys.excepthook(kind, value, trace.tb_next)
        except SystemExit as e:
            code = e.code
        except BaseException:
            import traceback

            traceback.print_exc()
    if code is None:
        code = 0
    elif not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream and not stream.closed:
                stream.flush()
        except Exception:
            code = code or 120
    return code & 0xFF


def main():
    os.set_inheritable(LISTENER, False)
    del sys.path[0]  # this file's directory, in which the script has nothing
    Zygote(socket.socket(fileno=LISTENER), sys.argv[1], sys.argv[2:] != ["cold"]).serve()


if __name__ == "__main__":
    main()
