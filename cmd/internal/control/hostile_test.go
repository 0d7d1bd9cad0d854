package control_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest"
)

func TestHostileRequests(t *testing.T) {
	called := func() { t.Error("the request reached the node") }
	routes := (&fakeNode{
		ping: func(context.Context, node.PingRequest) (node.PingReply, error) {
			called()
			return node.PingReply{}, nil
		},
		sink: func(context.Context, node.SinkRequest, node.Report) error { called(); return nil },
		put:  func(context.Context, node.PutRequest, io.Reader, node.Report) error { called(); return nil },
	}).routes()
	hasty := serve(t, Config{RequestTimeout: 200 * time.Millisecond, Routes: routes})
	patient := serve(t, Config{Routes: routes, RequestTimeout: 2 * waitLimit}) // this timeout never expires, even on a busy machine
	ping := `{"target":"12345-10.0.0.2@tcp","timeout":1}`
	for _, test := range []struct{ name, raw, want string }{
		{"silence", "", ""},
		{"random bytes", "\x00\xFF\x16\x03\x01\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"half a header", "GET /v1/status HTTP/1.1\r\nHost: x\r\n", ""},
		{"headers without end", "GET /v1/status HTTP/1.1\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 100), "HTTP/1.1 431 "},
		{"half a body", "POST /v1/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", "read request: "},
		{"body that never ends", post("/v1/msg/put", strings.Repeat("x", 1<<20)), `"request of more than 65536 bytes"`},
		{"huge length", "POST /v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99999999999999\r\n\r\n" + strings.Repeat("x", 1<<17), `"request of more than 65536 bytes"`},
		{"bad length", "POST /v1/ping HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"no JSON", post("/v1/ping", "hello"), "HTTP/1.1 400 Bad Request"},
		{"empty body", post("/v1/ping", ""), "HTTP/1.1 400 Bad Request"},
		{"unknown field", post("/v1/ping", `{"targets":1}`), `unknown field`},
		{"bad NID", post("/v1/ping", `{"target":"x"}`), "HTTP/1.1 400 Bad Request"},
		{"two objects", post("/v1/ping", ping+ping), `"request: more than one object on its line"`},
		{"data behind", post("/v1/ping", ping+"\nmore"), `"request: data where there should be none"`},
		{"deep JSON", post("/v1/msg/sink", strings.Repeat(`{"portal":[`, 5000)), "HTTP/1.1 400 Bad Request"},
		{"unknown path", post("/v2/ping", ping), "HTTP/1.1 404 Not Found"},
		{"wrong method", "GET /v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 Not Found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := patient
			if test.name == "silence" || strings.HasPrefix(test.name, "half ") {
				d = hasty // such a request is incomplete: only after its short time-out the daemon hasty answers it or closes the connection
			}
			var got string
			answered := func() bool { got = d.talk(t, test.raw); return strings.Contains(got, test.want) }
			if ok := answered(); !ok && (d == patient || !lndtest.Poll(answered)) { // on a busy machine a request can reach hasty only after the time-out, so it is sent again
				t.Errorf("answer %.300q, want %q", got, test.want)
			}
			var err error
			good := func() bool {
				_, err = node.OpStatus.Call(t.Context(), NewClient(d.path), None{})
				return err == nil
			}
			if ok := good(); !ok && (d == patient || !lndtest.Poll(good)) {
				t.Errorf("a good client afterwards: %v", err)
			}
		})
	}
}

func TestTooManyStreams(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes(), MaxStreams: 2})
	for range 2 {
		events, err := NewClient(d.path).Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer events.Close()
	}
	_, err := NewClient(d.path).Events(t.Context())
	if err == nil || err.Error() != "too many operations at a time" {
		t.Errorf("third stream of two: %v", err)
	}
	if _, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{}); err != nil {
		t.Errorf("status beside them: %v", err)
	}
}

// TestTooManyConnections: at the limit an idle connection is closed at once to make room for a new one that
// sends a request.
func TestTooManyConnections(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes(), MaxConns: 2, RequestTimeout: 2 * waitLimit})
	for range 10 {
		d.dial(t) // a connection on which no request is sent is idle
	}
	if _, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{}); err != nil {
		t.Error(err)
	}
}

// TestGroupCannotKeepRootOut: however many connections and streams the group of the socket
// has open, root gets an answer, and the group an error that there are too many.
func TestGroupCannotKeepRootOut(t *testing.T) {
	const most = 4
	var mu sync.Mutex
	next := AccessRead
	d := serveAs(t, Config{Routes: (&fakeNode{}).routes(), MaxConns: most, MaxStreams: most, RequestTimeout: 2 * waitLimit}, func() Access {
		mu.Lock()
		defer mu.Unlock()
		return next
	})
	for range most {
		d.dial(t)
	}
	for range most { // the idle connections above are closed to make room for the connections of these streams
		stream, err := NewClient(d.path).Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	_, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{})
	if err == nil || err.Error() != "too many requests at a time" || cli.HintOf(err) == "" {
		t.Errorf("one more of the group: %v, hint %q", err, cli.HintOf(err))
	}
	late := d.dial(t)
	if answer, err := io.ReadAll(late); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") {
		t.Errorf("one who is slow with the request: %.100q, %v", answer, err)
	}
	if _, err := io.WriteString(late, "GET /v1/status HTTP/1.1\r\n\r\n"); err != nil {
		t.Errorf("the request can not be written, so that its client never reads the answer: %v", err)
	}
	mu.Lock()
	next = AccessWrite
	mu.Unlock()
	if _, err := node.OpStatus.Call(t.Context(), NewClient(d.path), None{}); err != nil {
		t.Errorf("root: %v", err)
	}
	stream, err := NewClient(d.path).Events(t.Context())
	if err != nil {
		t.Fatalf("events for root: %v", err)
	}
	stream.Close()
}

func TestReaderThatStalls(t *testing.T) {
	ended := make(chan error, 1)
	d := serve(t, Config{
		StallTimeout: 50 * time.Millisecond,
		Routes: (&fakeNode{sink: func(_ context.Context, _ node.SinkRequest, report node.Report) error {
			step := node.Step{Event: &node.Event{Type: "PUT"}, Payload: make([]byte, 1<<20)}
			for {
				if err := report(step); err != nil {
					ended <- err
					return err
				}
			}
		}}).routes(),
	})
	c := d.dial(t)
	if _, err := io.WriteString(c, post("/v1/msg/sink", `{"portal":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, ended); err == nil {
		t.Error("no error")
	}
}

func FuzzReadFrames(f *testing.F) {
	f.Add("{\"ready\":true}\n{\"event\":{\"type\":\"PUT\"},\"payload\":3}\nabc{\"end\":true}\n")
	f.Add("{\"error\":{\"message\":\"no\",\"errno\":5}}\n")
	f.Add("{\"payload\":-1}\n")
	f.Fuzz(func(t *testing.T, answer string) {
		var took int
		err := ReadFrames(strings.NewReader(answer), func(s node.Step) error {
			took += len(s.Payload)
			return nil
		})
		if took > len(answer) {
			t.Errorf("%d bytes of payload from %d bytes", took, len(answer))
		}
		if err == nil && !strings.Contains(answer, "end") {
			t.Error("an answer without end is a success")
		}
	})
}

func TestAnswersOfADaemonThatFails(t *testing.T) {
	for _, test := range []struct{ name, answer, want string }{
		{"nothing", "", "the daemon has gone away: EOF"},
		{"no end", "{\"ready\":true}\n", "the daemon has gone away: EOF"},
		{"no JSON", "<html>\n", "answer of the daemon: invalid character '<' looking for beginning of value"},
		{"payload cut", "{\"payload\":5}\nabc", "the daemon has gone away: unexpected EOF"},
		{"payload too large", "{\"payload\":1048577}\n", "answer of the daemon: payload of 1048577 bytes"},
		{"line too long", strings.Repeat("x", MaxRequest+1), "the daemon has gone away: bufio: buffer full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := ReadFrames(strings.NewReader(test.answer), func(node.Step) error { return nil })
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestStatusOfRefusals(t *testing.T) {
	d := serve(t, Config{Routes: (&fakeNode{}).routes()})
	got := d.talk(t, "GET /v1/capture HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 404") || !strings.Contains(got, http.StatusText(http.StatusNotFound)) {
		t.Errorf("capture where there is none: %q", got)
	}
}

// TestServerThatDoesNotAnswer: if a server accepts a connection and does not answer, like a daemon that
// is stopped, the client returns in time an error that says so.
func TestServerThatDoesNotAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket) // the kernel establishes connections and puts them into the backlog of l, but the test never accepts them
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := NewClient(socket)
	c.SetBounds(time.Millisecond, 1<<20)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	_, err = node.OpStatus.Call(ctx, c, None{})
	if err == nil || err.Error() != "lnetd has not answered in 1ms" || !strings.Contains(cli.HintOf(err), "bugreport") {
		t.Errorf("error %v, hint %q", err, cli.HintOf(err))
	}
}

// TestAnswerWithoutEnd: a client reads a bounded part of an answer.
func TestAnswerWithoutEnd(t *testing.T) {
	c := NewClient("")
	c.SetBounds(waitLimit, 1000)
	var status node.Status
	body := io.NopCloser(strings.NewReader(strings.Repeat(" ", 999) + "{}"))
	if err := c.Decode(t.Context(), body, &status); err == nil || err.Error() != "answer of the daemon: more than 1000 bytes" {
		t.Errorf("error %v", err)
	}
	body = io.NopCloser(strings.NewReader(strings.Repeat(" ", 998) + "{}"))
	if err := c.Decode(t.Context(), body, &status); err != nil {
		t.Error(err)
	}
}
