package web

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// big is an answer that is longer than the socket buffers can hold while the client does not read it.
var big = make([]byte, 16<<20)

// start serves the pages /page, /big and /order at an address until the test ends, and returns the address with the
// port that was chosen. hosts are as in Config: what the Host header of a request may have.
func start(t *testing.T, address string, hosts ...string) net.Addr {
	t.Helper()
	return startWith(t, address, map[string]http.HandlerFunc{
		"/page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") },
		"/big":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(big) },
		"/order": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "ordered %d", len(body))
		},
	}, hosts...)
}

// startWith does what start does, with other pages.
func startWith(t *testing.T, address string, pages map[string]http.HandlerFunc, hosts ...string) net.Addr {
	t.Helper()
	a, err := ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Listen("metrics", "--metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Hosts: hosts, Log: slog.New(slog.DiscardHandler)})
	for path, page := range pages {
		if strings.HasPrefix(path, "/order") {
			s.HandleOrder(path, page)
		} else {
			s.Handle(path, page)
		}
	}
	s.Start(l)
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil {
			t.Log(err) // no failure of the test: Close cuts off the answers to clients that do not read
		}
	})
	return l.Addr()
}

// ask sends a request that consists of the given lines, unchanged, and of Connection: close. It returns
// the status and the answer.
func ask(t *testing.T, at net.Addr, lines ...string) (status int, body string) {
	t.Helper()
	return askWith(t, at, "", lines...)
}

// askWith is ask with a body of the request.
func askWith(t *testing.T, at net.Addr, sent string, lines ...string) (status int, body string) {
	t.Helper()
	c, err := net.Dial(at.Network(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.Join(lines, "\r\n")+"\r\nConnection: close\r\n\r\n"+sent); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: strings.Fields(lines[0])[0]})
	if err != nil {
		t.Fatalf("%q: %v", lines, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Get("Content-Security-Policy") == "" && r.StatusCode != http.StatusBadRequest {
		t.Errorf("%q: no policy of content in %v", lines, r.Header)
	}
	return r.StatusCode, string(text)
}

// TestRequests: only GET and HEAD of a registered path, without a body, under a name of this host
// and not from the page of another host, are answered.
func TestRequests(t *testing.T) {
	spec.Covers(t, "OP-61")
	at := start(t, "0", "prom.example", "192.0.2.7", "2001:DB8::7")
	_, port, _ := net.SplitHostPort(at.String())
	own, _ := os.Hostname()
	for _, c := range []struct {
		lines  string
		status int
	}{
		{"GET /page HTTP/1.1|Host: " + at.String(), 200},
		{"GET /page?name=x HTTP/1.1|Host: " + at.String(), 200},
		{"HEAD /page HTTP/1.1|Host: localhost:" + port, 200},
		{"GET /page HTTP/1.1|Host: LOCALHOST.", 200},
		{"GET /page HTTP/1.1|Host: [::1]:" + port, 200},
		{"GET /page HTTP/1.1|Host: Prom.Example:" + port, 200},
		{"GET /page HTTP/1.1|Host: 192.0.2.7:" + port, 200},
		{"GET /page HTTP/1.1|Host: [2001:db8:0::7]:" + port, 200},
		{"GET /page HTTP/1.1|Host: " + own, 200},
		{"GET /page HTTP/1.1|Host: localhost|Origin: http://localhost", 200},

		{"GET /page HTTP/1.1|Host: evil.example:" + port, 403},
		{"GET /page HTTP/1.1|Host: localhost.evil.example", 403},
		{"GET /page HTTP/1.1|Host: 127.0.0.1.evil.example", 403},
		{"GET /page HTTP/1.1|Host: 192.0.2.1:" + port, 403},
		{"GET /page HTTP/1.1|Host: 192.0.2.70:" + port, 403},
		{"GET /page HTTP/1.1|Host: [2001:db8::8]:" + port, 403},
		{"GET http://evil.example/page HTTP/1.1|Host: localhost", 403},
		{"GET /page HTTP/1.0|X: no host", 403},
		{"GET /page HTTP/1.1|Host: ", 403},
		{"GET /page HTTP/1.1|Host: a|Host: b", 400},
		{"GET /page HTTP/1.1|Host: localhost|Origin: http://evil.example", 403},
		{"GET /page HTTP/1.1|Host: localhost|Origin: null", 403},
		{"GET /page HTTP/1.1|Host: localhost|Origin: http://localhost|Origin: http://evil.example", 403},

		{"POST /page HTTP/1.1|Host: localhost|Content-Length: 0", 405},
		{"DELETE /page HTTP/1.1|Host: localhost", 405},
		{"OPTIONS * HTTP/1.1|Host: localhost", 405},
		{"CONNECT localhost:1 HTTP/1.1|Host: localhost:1", 405},
		{"GET /page HTTP/1.1|Host: localhost|Content-Length: 5", 400},
		{"GET /page HTTP/1.1|Host: localhost|Transfer-Encoding: chunked", 400},

		{"GET / HTTP/1.1|Host: localhost", 404},
		{"GET /page/ HTTP/1.1|Host: localhost", 404},
		{"GET //page HTTP/1.1|Host: localhost", 404},
		{"GET /./page HTTP/1.1|Host: localhost", 404},
		{"GET /x/../page HTTP/1.1|Host: localhost", 404},
		{"GET /../../etc/passwd HTTP/1.1|Host: localhost", 404},
		{"GET /%2e%2e/%2fetc/passwd HTTP/1.1|Host: localhost", 404},
		{"GET /page%00 HTTP/1.1|Host: localhost", 404},
		{"GET page HTTP/1.1|Host: localhost", 400},
	} {
		status, body := ask(t, at, strings.Split(c.lines, "|")...)
		want := "content"
		if strings.HasPrefix(c.lines, "HEAD") {
			want = ""
		}
		if status != c.status || (body == want) != (status == 200) {
			t.Errorf("%.80q: status %d, want %d; %q", c.lines, status, c.status, body)
		}
	}
}

// TestOrders: an order is accepted only as a POST to its exact path, with JSON as the content type, a
// Content-Length of at most 4096, and a Host header and, if there is one, an Origin header that name this host.
func TestOrders(t *testing.T) {
	spec.Covers(t, "OP-61")
	at := start(t, "0")
	const ours, kind, short = "Host: localhost", "Content-Type: application/json; charset=utf-8", "Content-Length: 2"
	for _, c := range []struct {
		lines, body string
		status      int
	}{
		{"POST /order HTTP/1.1|" + ours + "|" + kind + "|" + short, "{}", 200},
		{"POST /order HTTP/1.1|" + ours + "|Origin: http://localhost|" + kind + "|" + short, "{}", 200},
		{"POST /order HTTP/1.1|" + ours + "|" + kind + "|Content-Length: 4096", strings.Repeat("x", 4096), 200},

		{"POST /order HTTP/1.1|Host: evil.example|" + kind + "|" + short, "{}", 403},
		{"POST /order HTTP/1.1|" + ours + "|Origin: http://evil.example|" + kind + "|" + short, "{}", 403},
		{"POST /order HTTP/1.1|" + ours + "|Origin: null|" + kind + "|" + short, "{}", 403},
		{"GET /order HTTP/1.1|" + ours, "", 405},
		{"OPTIONS /order HTTP/1.1|" + ours, "", 405},
		{"POST /order HTTP/1.1|" + ours + "|" + short, "{}", 415},
		{"POST /order HTTP/1.1|" + ours + "|Content-Type: text/plain|" + short, "{}", 415},
		{"POST /order HTTP/1.1|" + ours + "|Content-Type: application/x-www-form-urlencoded|" + short, "{}", 415},
		{"POST /order HTTP/1.1|" + ours + "|" + kind + "|Content-Length: 4097", strings.Repeat("x", 4097), 413},
		{"POST /order HTTP/1.1|" + ours + "|" + kind + "|Transfer-Encoding: chunked", "0\r\n\r\n", 413},
		{"POST /x/../order HTTP/1.1|" + ours + "|" + kind + "|" + short, "{}", 405},
		{"POST /%6frder HTTP/1.1|" + ours + "|" + kind + "|" + short, "{}", 404},
		{"POST /%2e/order HTTP/1.1|" + ours + "|" + kind + "|" + short, "{}", 404},
		{"POST /order%2f HTTP/1.1|" + ours + "|" + kind + "|" + short, "{}", 404},
	} {
		status, body := askWith(t, at, c.body, strings.Split(c.lines, "|")...)
		if status != c.status || strings.HasPrefix(body, "ordered") != (status == 200) {
			t.Errorf("%.90q: status %d, want %d; %q", c.lines, status, c.status, body)
		}
	}
}

// TestLongHeaders: the server reads no more than a few kilobytes of headers before it closes the
// connection.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	at := start(t, "0")
	c, err := net.Dial(at.Network(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /page HTTP/1.1\r\nHost: localhost\r\nX: ")
	sent, piece := 0, make([]byte, 64<<10)
	for ; err == nil && sent < 64<<20; sent += len(piece) {
		_, err = c.Write(piece)
	}
	if err == nil {
		t.Errorf("the server took %d bytes of headers", sent)
	}
}

// TestUnixSocket: a client of the socket may put any name into the Host header. A request with the
// origin of another host is refused, even though a proxy may have sent it. A second server cannot
// replace the socket.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.sock")
	at := start(t, "unix:"+path)
	if status, _ := ask(t, at, "GET /page HTTP/1.1", "Host: any"); status != 200 {
		t.Errorf("status %d", status)
	}
	if status, _ := ask(t, at, "GET /page HTTP/1.1", "Host: any", "Origin: http://evil.example"); status != 403 {
		t.Errorf("with an origin: status %d", status)
	}
	a, err := ParseAddress(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Listen("metrics", "--metrics", nil); err == nil || !strings.Contains(err.Error(), "socket of metrics "+path+": another daemon answers there") {
		t.Errorf("a second server: %v", err)
	}
}

// TestTooManyConnections: clients that connect and say nothing, or that do not read their answers,
// cannot keep other clients out: each connection above the bound ends an older one.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	at := start(t, "127.0.0.1:0")
	var idle []net.Conn
	for i := range 2 * maxConns {
		c, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if idle = append(idle, c); i%8 == 0 {
			fmt.Fprint(c, "GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	if status, body := ask(t, at, "GET /page HTTP/1.1", "Host: localhost"); status != 200 || body != "content" {
		t.Errorf("status %d, %q", status, body)
	}
	if err := idle[1].SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := idle[1].Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the oldest idle connection is open: %d bytes, %v", n, err)
	}
}
