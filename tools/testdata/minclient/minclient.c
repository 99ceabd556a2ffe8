// What a hook tool's client in C is measured against: it makes one fixed call
// with the C library and prints the reply.
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void) {
	const char *fields[] = {getenv("JUJU_CONTEXT_ID"), "/", "config-get", "title"};
	unsigned char request[512] = {1}, reply[4096];
	size_t n = 10;
	for (int i = 0; i < 4; i++) {
		size_t size = strlen(fields[i]);
		request[n + 3] = (unsigned char)size;
		memcpy(request + n + 4, fields[i], size);
		n += 4 + size;
	}
	request[5] = (unsigned char)(n - 10);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	strncpy(to.sun_path, getenv("JUJU_AGENT_SOCKET_ADDRESS"), sizeof to.sun_path - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 || write(fd, request, n) != (ssize_t)n) return 1;
	ssize_t got = read(fd, reply, sizeof reply);
	if (got < 13 || write(1, reply + 13, (size_t)got - 13) < 0) return 1;
	return reply[4];
}
