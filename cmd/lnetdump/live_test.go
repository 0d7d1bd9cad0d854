package main

import (
	"bufio"
	"bytes"
	"context"
	enc "encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/afpacket"
	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
)

// opening is an acceptor request for 127.0.0.1@tcp and the HELLO after it.
var opening = unhex("0071ceac 01000000 0100007f00000200" +
	"63697245 03000000 0200007f00000200 0100007f00000200 39300000 00000000 8877665544332211 0000000000000000 01000000 00000000")

func unhex(s string) []byte {
	b, err := enc.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// watch is a running lnetdump.
type watch struct {
	lines  *bufio.Scanner
	stderr bytes.Buffer
	cancel context.CancelFunc
	exit   chan int
}

func startWatch(t *testing.T, args ...string) *watch {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	w := &watch{lines: bufio.NewScanner(in), cancel: cancel, exit: make(chan int, 1)}
	go func() {
		code := invoke(ctx, cli.Env{Stdin: strings.NewReader(""), Stdout: out, Stderr: &w.stderr}, args...)
		out.Close()
		w.exit <- code
	}()
	t.Cleanup(func() { cancel(); in.Close() })
	return w
}

// expect reads lines up to one that contains text.
func (w *watch) expect(t *testing.T, text string) {
	t.Helper()
	for w.lines.Scan() {
		if strings.Contains(w.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("no line with %q; exit code %d: %s", text, <-w.exit, w.stderr.String())
}

// end cancels the command, as a signal does, and expects success.
func (w *watch) end(t *testing.T) {
	t.Helper()
	w.cancel()
	for w.lines.Scan() {
	}
	if code := <-w.exit; code != cli.OK || lost.ReplaceAllString(w.stderr.String(), "") != "" {
		t.Errorf("exit code %d: %s", code, w.stderr.String())
	}
}

// lost matches the line that says how many packets the kernel dropped. On a busy machine there are such
// drops, because other tests send packets over the same interface.
var lost = regexp.MustCompile(`(?m)^.*dropped by the kernel.*\n?`)

// TestWatchDaemon watches a capture.Writer behind a control socket.
func TestWatchDaemon(t *testing.T) {
	tap, err := capture.NewWriter(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	flow := tap.Flow(netip.MustParseAddrPort("127.0.0.2:1000"), netip.MustParseAddrPort("127.0.0.1:10988"), true)
	flow.Sent(opening)
	socket := serveTap(t, tap)
	w := startWatch(t, "--socket", socket)
	w.expect(t, "127.0.0.2:1000 → 127.0.0.1:988  ACCEPTOR asks for 127.0.0.1@tcp")
	w.expect(t, "HELLO v3 from 127.0.0.2@tcp to 127.0.0.1@tcp: CONTROL connection")
	flow.Received(opening[16:])
	w.expect(t, "127.0.0.1:988 → 127.0.0.2:1000  HELLO v3")
	w.end(t)

	again := startWatch(t, "--socket", socket)
	again.expect(t, "ACCEPTOR")
	if err := tap.Close(); err != nil {
		t.Fatal(err)
	}
	for again.lines.Scan() {
	}
	if code := <-again.exit; code != cli.OK {
		t.Errorf("exit code %d after the daemon ended: %s", code, again.stderr.String())
	}
}

// serveTap serves what a Writer captures at a control socket.
func serveTap(t *testing.T, tap *capture.Writer) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/capture" {
			http.NotFound(w, r)
			return
		}
		_ = tap.View(r.Context(), flushing{w, http.NewResponseController(w)})
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return socket
}

// flushing is a writer that sends each Write to the client at once.
type flushing struct {
	io.Writer
	control *http.ResponseController
}

func (f flushing) Flush() { _ = f.control.Flush() }

// TestDaemonRefuses: the error that a daemon answers is printed.
func TestDaemonRefuses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error": {"message": "not for you", "hint": "ask root"}}`)
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	var out, stderr bytes.Buffer
	code := invoke(t.Context(), cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr}, "--socket", socket)
	if code != cli.Failed || !strings.Contains(stderr.String(), ": not for you\n  ask root\n") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// TestWatchInterface captures on the loopback interface while a goroutine opens connections.
func TestWatchInterface(t *testing.T) {
	probe, err := afpacket.Open("lo")
	if afpacket.NotPermitted(err) {
		t.Skip("packet sockets need CAP_NET_RAW")
	}
	if err != nil {
		t.Fatal(err)
	}
	probe.Close()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port

	w := startWatch(t, "-i", "lo", "--port", strconv.Itoa(port))
	ctx, seen := context.WithCancel(t.Context())
	defer seen()
	go func() { // repeated until the command captures and has seen a connection
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			if c, err := net.Dial("tcp4", listener.Addr().String()); err == nil {
				_, _ = c.Write(opening)
				c.Close()
			}
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
	}()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	w.expect(t, "ACCEPTOR asks for 127.0.0.1@tcp")
	seen()
	w.expect(t, "HELLO v3 from 127.0.0.2@tcp to 127.0.0.1@tcp: CONTROL connection")
	w.end(t)
}
