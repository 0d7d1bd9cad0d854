package control_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/cmd/internal/config"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit bounds the time that a test waits.
const waitLimit = 60 * time.Second

// fakeNode is a Node whose operations the test defines.
type fakeNode struct {
	ping  func(context.Context, node.PingRequest) (node.PingReply, error)
	sink  func(context.Context, node.SinkRequest, node.Report) error
	put   func(context.Context, node.PutRequest, io.Reader, node.Report) error
	serve func(context.Context, node.ServeRequest, io.Reader, node.Report) error
	get   func(context.Context, node.GetRequest, node.Report) error

	peers  func(after nid.NID, limit int) node.PeerPage
	failed *node.FailRequest // the latest request to simulate the failure of an NI; nil: there was none
}

func (*fakeNode) Status() node.Status { return node.Status{PID: nid.LustrePID, Networks: "tcp(eth0)"} }

func (f *fakeNode) Peers(after nid.NID, limit int) node.PeerPage {
	if f.peers == nil {
		return node.PeerPage{}
	}
	return f.peers(after, limit)
}

func (*fakeNode) PeersOf(id nid.NID) node.PeerPage {
	return node.PeerPage{Peers: []lnet.PeerSnapshot{{NID: id, Primary: id}}}
}

func (f *fakeNode) Ping(ctx context.Context, r node.PingRequest) (node.PingReply, error) {
	return f.ping(ctx, r)
}

func (f *fakeNode) Discover(_ context.Context, r node.DiscoverRequest) (node.DiscoverReply, error) {
	return node.DiscoverReply{Primary: r.Target, MultiRail: r.Force}, nil
}

func (f *fakeNode) Set(s node.Setting) error {
	if s.Name != "discovery" {
		return syscall.EINVAL
	}
	return nil
}

func (f *fakeNode) AddNetworks(r node.AddRequest) error {
	if r.Networks != "tcp1(eth1)" {
		return syscall.EINVAL
	}
	return nil
}

func (f *fakeNode) RemoveNet(_ context.Context, r node.RemoveRequest) (gone node.RemovedNet, err error) {
	if r.Net != "tcp1" {
		return gone, syscall.ENOENT
	}
	gone.Warnings = []string{"3 messages were not sent"}
	return gone, nil
}

func (f *fakeNode) Fail(r node.FailRequest) error {
	if f.failed != nil {
		*f.failed = r
	}
	if !r.NID.IsValid() {
		return syscall.EINVAL
	}
	return nil
}

func (*fakeNode) AddFault(f node.AddFault) (node.AddedFault, error) {
	if f.Statement != "loss 5%" {
		return node.AddedFault{}, syscall.EINVAL
	}
	return node.AddedFault{ID: 7}, nil
}

func (*fakeNode) EndFault(e node.EndFault) error {
	if e.Rule != 7 && !e.Rules && !e.Partition && !e.Pause {
		return syscall.ENOENT
	}
	return nil
}

// allRoutes returns all routes of a daemon. There is no running node, so their functions must not
// be called.
func allRoutes() []Route {
	routes := new(node.Node).Routes()
	for _, m := range modules.List(node.Host{Config: new(config.Config)}) {
		routes = append(routes, m.Routes()...)
	}
	return routes
}

// routes returns the routes of the operations that the node fakes.
func (f *fakeNode) routes() []Route {
	return []Route{
		node.OpStatus.Do(Told(f.Status)), node.OpPing.Do(f.Ping), node.OpDiscover.Do(f.Discover), node.OpSet.Do(Act(f.Set)),
		node.OpPeers.Do(Quick(func(r node.PeersRequest) (node.PeerPage, error) {
			if r.NID.IsValid() {
				return f.PeersOf(r.NID), nil
			}
			return f.Peers(r.After, r.Limit), nil
		})),
		node.OpAddNetworks.Do(Act(f.AddNetworks)), node.OpRemoveNet.Do(f.RemoveNet), node.OpFail.Do(Act(f.Fail)),
		node.OpAddFault.Do(Quick(f.AddFault)), node.OpEndFault.Do(Act(f.EndFault)),
		node.OpSink.Do(func(ctx context.Context, r node.SinkRequest, report func(node.Step) error) error {
			return f.sink(ctx, r, report)
		}),
		node.OpPut.DoWith(func(ctx context.Context, r node.PutRequest, data io.Reader, report func(node.Step) error) error {
			return f.put(ctx, r, data, report)
		}),
		node.OpServe.DoWith(func(ctx context.Context, r node.ServeRequest, data io.Reader, report func(node.Step) error) error {
			return f.serve(ctx, r, data, report)
		}),
		node.OpGet.Do(func(ctx context.Context, r node.GetRequest, report func(node.Step) error) error {
			return f.get(ctx, r, report)
		}),
	}
}

// daemon is a server under test.
type daemon struct {
	path string
	stop context.CancelFunc
	done chan error
}

// serve starts a server that ends with the test.
func serve(t *testing.T, cfg Config) *daemon {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	socket, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	return serveSocket(t, cfg, path, socket)
}

// serveAs does the same as serve; next returns the access of each client, in the order in which
// they connect.
func serveAs(t *testing.T, cfg Config, next func() Access) *daemon {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	socket, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Events == nil {
		cfg.Events = new(Events)
	}
	s := New(cfg)
	s.SetAccess(func(net.Conn) Access { return next() })
	return start(t, s, path, socket)
}

func serveSocket(t *testing.T, cfg Config, path string, socket *Socket) *daemon {
	t.Helper()
	if cfg.Events == nil {
		cfg.Events = new(Events)
	}
	return start(t, New(cfg), path, socket)
}

// start serves a socket until the test ends.
func start(t *testing.T, s *Server, path string, socket *Socket) *daemon {
	t.Helper()
	d := &daemon{path: path, done: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go func() { d.done <- s.Serve(ctx, socket) }()
	t.Cleanup(func() { d.end(t) })
	return d
}

// end stops the server and waits for it.
func (d *daemon) end(t *testing.T) {
	t.Helper()
	d.stop()
	if err := wait(t, d.done); err != nil {
		t.Errorf("server: %v", err)
	}
	d.done <- nil // makes a further call of end return at once
}

func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitLimit):
		t.Fatal("nothing happens")
	}
	panic("unreachable")
}

// dial opens a raw connection that is closed with the test.
func (d *daemon) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", d.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		t.Fatal(err)
	}
	return c
}

// talk sends raw bytes and returns the whole answer.
func (d *daemon) talk(t *testing.T, raw string) string {
	t.Helper()
	return talk(t, d.dial(t), raw)
}

func talk(t *testing.T, c net.Conn, raw string) string {
	t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Logf("write: %v", err) // the server may refuse before it has read everything
	}
	answer, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("read: %v", err)
	}
	return string(answer)
}

// post returns a request as raw bytes.
func post(path, body string) string {
	r, err := http.NewRequest(http.MethodPost, "http://lnetd"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Close = true
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		panic(err)
	}
	return b.String()
}
