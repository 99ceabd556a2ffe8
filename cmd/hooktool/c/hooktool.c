// The optional client of the hook tools for Linux, which does what package
// tools/client does with no runtime to start: no C library, a few system calls.
// It serves the tools alone; juju-exec is the Go client's. The protocol is in
// docs/hook-tool-protocol.md. Build: cc -Os -static -nostdlib -ffreestanding.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long usize;
typedef long isize;

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, MMAP = 9, SIGACTION = 13, SOCKET = 41, CONNECT = 42, EXIT = 231, FCNTL = 72, GETCWD = 79 };
static isize sys(isize n, isize a, isize b, isize c, isize d, isize e, isize f) {
	isize r;
	register isize r10 __asm__("r10") = d;
	register isize r8 __asm__("r8") = e;
	register isize r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}
__asm__(".globl _start\n_start:\n\txor %ebp,%ebp\n\tmov %rsp,%rdi\n\tand $-16,%rsp\n\tcall start\n");
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, MMAP = 222, SIGACTION = 134, SOCKET = 198, CONNECT = 203, EXIT = 94, FCNTL = 25, GETCWD = 17 };
static isize sys(isize n, isize a, isize b, isize c, isize d, isize e, isize f) {
	register isize x8 __asm__("x8") = n;
	register isize x0 __asm__("x0") = a;
	register isize x1 __asm__("x1") = b;
	register isize x2 __asm__("x2") = c;
	register isize x3 __asm__("x3") = d;
	register isize x4 __asm__("x4") = e;
	register isize x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
__asm__(".globl _start\n_start:\n\tmov x29,#0\n\tmov x0,sp\n\tbl start\n");
#else
#error "this processor has the Go client alone"
#endif

enum { EINTR = 4, EAGAIN = 11, EISCONN = 106 };
enum { MAX_HEAD = 8 << 20, MAX_STDIN = 64 << 20, MAX_REPLY = 256 << 20, PATH_MOST = 108 };
enum { FAILED = 1 };

// The compiler may ask for these two by itself.
void *memcpy(void *to, const void *from, usize n) {
	for (usize i = 0; i < n; i++) ((volatile u8 *)to)[i] = ((const u8 *)from)[i];
	return to;
}
void *memset(void *to, int c, usize n) {
	for (usize i = 0; i < n; i++) ((volatile u8 *)to)[i] = (u8)c;
	return to;
}

static usize length(const char *s) {
	usize n = 0;
	while (s[n]) n++;
	return n;
}

static int same(const char *a, const char *b) {
	while (*a && *a == *b) a++, b++;
	return *a == *b;
}

__attribute__((noreturn)) static void leave(int code) {
	for (;;) sys(EXIT, code, 0, 0, 0, 0, 0);
}

// blocking makes a descriptor wait that somebody has made non-blocking.
static int blocking(int fd) {
	isize flags = sys(FCNTL, fd, 3, 0, 0, 0, 0);
	return flags >= 0 && sys(FCNTL, fd, 4, flags & ~04000, 0, 0, 0) >= 0;
}

static isize write_all(int fd, const u8 *b, usize n) {
	while (n > 0) {
		isize w = sys(WRITE, fd, (isize)b, (isize)n, 0, 0, 0);
		if (w == -EINTR || (w == -EAGAIN && blocking(fd))) continue;
		if (w < 0) return w;
		b += w, n -= (usize)w;
	}
	return 0;
}

// read_some is like read, and waits.
static isize read_some(int fd, u8 *b, usize n) {
	for (;;) {
		isize r = sys(READ, fd, (isize)b, (isize)n, 0, 0, 0);
		if (r != -EINTR && !(r == -EAGAIN && blocking(fd))) return r;
	}
}

// complain says up to four pieces of text in one line.
__attribute__((noreturn)) static void complain(const char *a, const char *b, const char *c, const char *d) {
	static u8 line[1024];
	const char *pieces[] = {"ERROR ", a, b, c, d, "\n"};
	usize n = 0;
	for (int i = 0; i < 6; i++)
		for (const char *p = pieces[i]; p && *p && n < sizeof line; p++) line[n++] = (u8)*p;
	write_all(2, line, n);
	leave(FAILED);
}

static const char *reason(isize err) {
	static const struct { int err; const char *text; } texts[] = {
		{1, "operation not permitted"}, {2, "no such file or directory"}, {11, "resource temporarily unavailable"},
		{12, "cannot allocate memory"}, {13, "permission denied"}, {20, "not a directory"}, {22, "invalid argument"},
		{24, "too many open files"}, {32, "broken pipe"}, {34, "numerical result out of range"}, {36, "file name too long"}, {91, "protocol wrong type for socket"},
		{97, "address family not supported by protocol"}, {104, "connection reset by peer"}, {111, "connection refused"},
	};
	for (usize i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].err == -err) return texts[i].text;
	return "it failed";
}

static u8 *room(usize n) {
	isize p = sys(MMAP, 0, (isize)n, 3, 0x22, -1, 0);
	if (p < 0 && p > -4096) complain("cannot allocate memory", 0, 0, 0);
	return (u8 *)p;
}

static char **environment;

// variable is empty where there is none.
static const char *variable(const char *name) {
	usize n = length(name);
	for (char **e = environment; *e; e++) {
		usize i = 0;
		while (i < n && (*e)[i] == name[i]) i++;
		if (i == n && (*e)[n] == '=') return *e + n + 1;
	}
	return "";
}

static void put_u32(u8 *b, usize n) {
	b[0] = (u8)(n >> 24), b[1] = (u8)(n >> 16), b[2] = (u8)(n >> 8), b[3] = (u8)n;
}

static u32 get_u32(const u8 *b) { return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3]; }

static u8 *put_field(u8 *b, const char *s) {
	usize n = length(s);
	put_u32(b, n);
	memcpy(b + 4, s, n);
	return b + 4 + n;
}

static const char *base(const char *path) {
	const char *b = path;
	for (; *path; path++)
		if (*path == '/') b = path + 1;
	return b;
}

// wants_stdin guesses as the Go client does: the value "-" for --file.
static int wants_stdin(char **args, int n) {
	for (int i = 0; i < n; i++) {
		if (same(args[i], "--")) return 0;
		if (same(args[i], "--file=-")) return 1;
		if (same(args[i], "--file") && i + 1 < n && same(args[i + 1], "-")) return 1;
	}
	return 0;
}

static u8 *input;
static usize input_size;

static void read_stdin(void) {
	usize most = 64 << 10;
	input = room(most);
	while (input_size <= MAX_STDIN) {
		if (input_size == most) {
			u8 *more = room(most * 2);
			memcpy(more, input, input_size);
			input = more, most *= 2;
		}
		isize r = read_some(0, input + input_size, most - input_size);
		if (r < 0) complain("cannot read standard input: ", reason(r), 0, 0);
		if (r == 0) return;
		input_size += (usize)r;
	}
	complain("hook tool call too large", 0, 0, 0);
}

static int dial(const char *address) {
	struct { unsigned short family; char path[PATH_MOST]; } to = {1, {0}};
	usize n = length(address);
	if (n >= PATH_MOST) complain("dial unix ", address, ": connect: ", reason(-22));
	memcpy(to.path, address, n);
	usize size = 2 + n + 1;
	if (to.path[0] == '@') to.path[0] = 0, size--;
	isize fd = sys(SOCKET, 1, 1, 0, 0, 0, 0);
	if (fd < 0) complain("dial unix ", address, ": connect: ", reason(fd));
	for (;;) {
		isize err = sys(CONNECT, fd, (isize)&to, (isize)size, 0, 0, 0);
		if (err == 0 || err == -EISCONN) return (int)fd;
		if (err != -EINTR) complain("dial unix ", address, ": connect: ", reason(err));
	}
}

static u8 small[16 << 10];

// call makes one call and returns its code; it has written what came back,
// unless the code is -1: standard input is wanted.
static int call(const char *address, const u8 *head, usize head_size, int with_input) {
	int fd = dial(address);
	// The header has its place before the head.
	u8 *request = (u8 *)head - 10;
	request[0] = 1, request[1] = (u8)with_input;
	put_u32(request + 2, head_size);
	put_u32(request + 6, with_input ? input_size : 0);
	isize sent = write_all(fd, request, 10 + head_size);
	if (sent == 0 && with_input) sent = write_all(fd, input, input_size);
	// An agent that refuses a call may answer before it has read all of it.
	u8 *reply = small;
	usize have = 0, want = 13, most = sizeof small;
	while (have < want) {
		isize r = read_some(fd, reply + have, most - have);
		if (r == -104 && sent == 0) r = 0;
		if (r <= 0) complain("cannot call the agent: ", sent < 0 ? reason(sent) : r < 0 ? reason(r) : "unexpected EOF", 0, 0);
		have += (usize)r;
		if (want > 13 || have < 13) continue;
		if (reply[0] != 1) complain("cannot call the agent: unknown version of the hook tool protocol", 0, 0, 0);
		u32 out = get_u32(reply + 5), err = get_u32(reply + 9);
		if (out > MAX_REPLY || err > MAX_REPLY) complain("cannot call the agent: hook tool call too large", 0, 0, 0);
		want = 13 + (usize)out + err;
		if (want > most) {
			u8 *more = room(want);
			memcpy(more, reply, have);
			reply = more, most = want;
		}
	}
	int code = (int)get_u32(reply + 1);
	u32 out = get_u32(reply + 5), err = get_u32(reply + 9);
	// A caller that doesn't read its tool's output has had its answer.
	if (out) write_all(1, reply + 13, out);
	if (err) write_all(2, reply + 13 + out, err);
	return code;
}

__attribute__((noreturn, used)) void start(usize *stack) {
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);
	environment = argv + argc + 1;
	// Whose reader has gone is no reason to end: sa_handler is SIG_IGN.
	usize ignore[4] = {1, 0, 0, 0};
	sys(SIGACTION, 13, (isize)ignore, 0, 8, 0, 0);

	const char *tool = "";
	char **args = argv + argc;
	int n = 0;
	if (argc > 0) tool = base(argv[0]), args = argv + 1, n = argc - 1;
	if ((same(tool, "hooktool") || same(tool, "unitd-hooktool") || same(tool, "unitd-hooktool-c")) && n > 0) tool = args[0], args++, n--;

	const char *context = variable("JUJU_CONTEXT_ID");
	if (!*context) complain("JUJU_CONTEXT_ID not set", 0, 0, 0);
	static char dir[4096];
	isize err = sys(GETCWD, (isize)dir, sizeof dir, 0, 0, 0, 0);
	if (err < 0) complain("getwd: ", reason(err), 0, 0);
	const char *address = variable("JUJU_AGENT_SOCKET_ADDRESS"), *network = variable("JUJU_AGENT_SOCKET_NETWORK");
	if (!*address) complain("JUJU_AGENT_SOCKET_ADDRESS not set", 0, 0, 0);
	if (!*network) complain("JUJU_AGENT_SOCKET_NETWORK not set", 0, 0, 0);
	if (!same(network, "unix")) {
		static char text[512];
		usize k = 0;
		const char *pieces[] = {"dial ", network, " ", address, ": unknown network ", network};
		for (int i = 0; i < 6; i++)
			for (const char *p = pieces[i]; *p && k < sizeof text - 1; p++) text[k++] = *p;
		complain(text, 0, 0, 0);
	}

	usize size = 12 + length(context) + length(dir) + length(tool);
	for (int i = 0; i < n; i++) size += 4 + length(args[i]);
	if (size > MAX_HEAD) complain("hook tool call too large", 0, 0, 0);
	static u8 near[8 << 10];
	u8 *request = 10 + size <= sizeof near ? near : room(10 + size);
	u8 *end = put_field(put_field(put_field(request + 10, context), dir), tool);
	for (int i = 0; i < n; i++) end = put_field(end, args[i]);

	int with_input = wants_stdin(args, n);
	if (with_input) read_stdin();
	int code = call(address, request + 10, size, with_input);
	if (code == -1 && !with_input) {
		read_stdin();
		code = call(address, request + 10, size, 1);
	}
	leave(code);
}
