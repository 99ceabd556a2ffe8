package isolate_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

// The ports of the cells' servers, beside that of listen.
const (
	echoPort   = "8081"
	streamPort = "8082"
)

// stream is what the cells' servers send: more than a frame, and no frame like another.
func stream() []byte {
	var b []byte
	for i := range uint32(1 << 20) {
		b = binary.BigEndian.AppendUint32(b, i)
	}
	return b
}

func streamSum() string { return fmt.Sprintf("%x", sha256.Sum256(stream())) }

// echo sends datagrams back, and streams to whoever connects; ready is a file that it
// makes when it does.
func echo(ready string) int {
	packets, err := net.ListenPacket("udp", ":"+echoPort)
	if err != nil {
		return 1
	}
	l, err := net.Listen("tcp", ":"+streamPort)
	if err != nil || os.WriteFile(ready, nil, 0o600) != nil {
		return 1
	}
	go func() {
		for all := stream(); ; {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write(all)
			conn.Close()
		}
	}()
	b := make([]byte, 64)
	for {
		n, from, err := packets.ReadFrom(b)
		if err != nil {
			return 1
		}
		_, _ = packets.WriteTo(b[:n], from)
	}
}

// echoes sends so many datagrams, and says how many have come back when none has for a
// while, and after how many microseconds the fastest.
func echoes(address, number string) int {
	n, err := strconv.Atoi(number)
	if err != nil {
		return 1
	}
	conn, err := net.Dial("udp", net.JoinHostPort(address, echoPort))
	if err != nil {
		return 1
	}
	sent := make([]time.Time, n)
	var took []time.Duration
	for i := range sent {
		sent[i] = time.Now()
		_, _ = conn.Write(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if i%16 == 15 || i < 4 { // not more at once than who echoes can take
			took = append(took, gather(conn, sent, n-len(took), time.Millisecond)...)
		}
	}
	took = append(took, gather(conn, sent, n-len(took), 2*time.Second)...)
	if len(took) == 0 {
		fmt.Println(0, 0)
		return 0
	}
	fmt.Println(len(took), slices.Min(took).Microseconds())
	return 0
}

// gather reads what comes back until that is as many as are still to come, or nothing has
// for a while.
func gather(conn net.Conn, sent []time.Time, most int, while time.Duration) (took []time.Duration) {
	b := make([]byte, 64)
	for len(took) < most {
		_ = conn.SetReadDeadline(time.Now().Add(while))
		n, err := conn.Read(b)
		switch {
		case err == nil && n == 4:
			took = append(took, time.Since(sent[binary.BigEndian.Uint32(b)]))
		case os.IsTimeout(err):
			return took
		}
	}
	return took
}

// receive says the sum of what is streamed.
func receive(address string) int {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, streamPort), 5*time.Minute)
	if err != nil {
		return 1
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, conn); err != nil {
		return 1
	}
	fmt.Printf("%x\n", sum.Sum(nil))
	return 0
}
