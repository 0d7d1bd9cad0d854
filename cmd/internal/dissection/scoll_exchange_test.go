package dissection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
)

// scollFile is the capture that testdata/scoll.txt prints, recorded by exchange.
var scollFile = filepath.Join(captures, "scoll.pcapng")

const exchangeService scoll.ServiceID = 7

// member is a node of the exchange.
type member struct {
	node  *node.Node
	agent *scoll.Agent
	rank  int
	over  chan *scoll.Request // broadcasts of this node that have ended
}

// exchange records collective operations of six nodes over loopback.
func exchange(t *testing.T) []byte {
	var out bytes.Buffer
	tap, err := capture.NewWriter(&out, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	nodes, members := startMembers(t, tap)
	root := nodes[0]
	g := root.group(t, members, scoll.Tree{}, true)
	root.broadcast(t, g, scoll.RequestConfig{Payload: []byte("hello, all of you")}, 0)
	root.broadcast(t, g, scoll.RequestConfig{Payload: []byte{0, 1, 2, 3}, Bulk: [][]byte{bytes.Repeat([]byte("bulk"), 750)}}, 0)
	root.broadcast(t, g, scoll.RequestConfig{Payload: []byte("fail")}, 2)
	g.SetSegment(4096)
	root.broadcast(t, g, scoll.RequestConfig{Bulk: [][]byte{bytes.Repeat([]byte("pipe"), 1250)}}, 0)
	g.SetSegment(0)
	destroy(t, g)
	flat := nodes[2].group(t, members, scoll.Tree{Type: scoll.KAry, K: 5}, false)
	nodes[2].broadcast(t, flat, scoll.RequestConfig{Payload: []byte("once"), Last: true}, 0)
	for _, n := range nodes {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		if err := errors.Join(n.agent.Close(ctx), n.node.Close(ctx)); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if err := tap.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func startMembers(t *testing.T, tap lnd.Tap) (nodes []*member, members *scoll.Membership) {
	tcp := nid.MakeNet(nid.TCP, 0)
	var addrs []netip.Addr
	var targets []scoll.Target
	for i := range 6 {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(21 + i)}))
		targets = append(targets, scoll.Target{NID: nid.FromAddr(tcp, addrs[i]), Entities: []scoll.Entity{{15: byte(i)}}})
	}
	members, err := scoll.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, addr := range addrs {
		n := &member{rank: i, over: make(chan *scoll.Request, 1)}
		n.node, err = node.Start(node.Config{
			Networks: "tcp(" + addr.String() + ")", AcceptPort: port, Tap: tap, LNet: lnet.Config{Incarnation: uint64(1000 + i)},
			Discovery: discovery.Config{Off: true}, // discovery is off, so that the capture has no pings
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg := scoll.Config{Clock: machine.RealClock()}
		cfg.RTT, cfg.Guard = 500*time.Millisecond, 400*time.Millisecond // long times, for a busy machine
		if n.agent, err = scoll.New(n.node.Table(), cfg); err != nil {
			t.Fatal(err)
		}
		if err = n.agent.RegisterService(n.service()); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes, members
}

// service answers with its rank. If the request asks for failures, rank 3 refuses it and
// rank 5 does not answer.
func (n *member) service() scoll.Service {
	fail := func(r *scoll.Request) bool { return string(r.Payload()) == "fail" }
	return scoll.Service{
		ID: exchangeService,
		PreRequest: func(r *scoll.Request) error {
			if fail(r) && n.rank == 3 {
				return scoll.ENOTSUP
			}
			if err := r.SetBulk(make([]byte, r.BulkLength())); err != nil && r.BulkLength() > 0 {
				return err
			}
			return n.post(r)
		},
		IncomingRequest: func(*scoll.Request) error { return nil },
		PostReply: func(r *scoll.Request) {
			switch {
			case r.Root():
				n.over <- r
			case !fail(r) || n.rank != 5:
				_ = r.Reply(fmt.Appendf(nil, "rank %d", n.rank)) // an error is ignored, because a failure shows in the capture
			}
		},
	}
}

func (n *member) post(r *scoll.Request) error {
	for i := range r.Children() {
		if err := r.PostReply(i, make([]byte, 64)); err != nil {
			return err
		}
	}
	return nil
}

func (n *member) group(t *testing.T, members *scoll.Membership, shape scoll.Tree, now bool) *scoll.Group {
	type outcome struct {
		g   *scoll.Group
		err error
	}
	made := make(chan outcome, 1)
	n.agent.CreateGroup(scoll.GroupConfig{
		Service: exchangeService, Members: members, Tree: shape, Now: now,
		Done: func(g *scoll.Group, err error) { made <- outcome{g, err} },
	})
	select {
	case o := <-made:
		if o.err != nil {
			t.Fatal(o.err)
		}
		return o.g
	case <-time.After(60 * time.Second):
		t.Fatal("no group")
		return nil
	}
}

// destroy ends a group after its last broadcast. The root gets the answers before the members
// have released their buffers, so destroy waits and tries again.
func destroy(t *testing.T, g *scoll.Group) {
	err := error(scoll.EBUSY)
	lndtest.Poll(func() bool {
		gone := make(chan error, 1)
		g.Destroy(func(err error) { gone <- err })
		err = <-gone
		return !errors.Is(err, scoll.EBUSY)
	})
	if err != nil {
		t.Error(err)
	}
}

// broadcast sends a request and expects the given number of members without an answer.
func (n *member) broadcast(t *testing.T, g *scoll.Group, cfg scoll.RequestConfig, missing int) {
	r, err := g.NewRequest(cfg)
	if err == nil {
		err = n.post(r)
	}
	if err == nil {
		err = r.Send()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case r = <-n.over:
		if got := r.Unreached(); len(got) != missing {
			t.Errorf("%q: unreached %v", cfg.Payload, got)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("%q does not end", cfg.Payload)
	}
}

// TestScollExchange: a live exchange is parsed like the recorded one. If UPDATE is set, the live
// exchange replaces the recording.
func TestScollExchange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scoll.pcapng")
	if os.Getenv("UPDATE") != "" {
		file = scollFile
	}
	if err := os.WriteFile(file, exchange(t), 0o644); err != nil {
		t.Fatal(err)
	}
	checkExchange(t, file)
}

// TestScollRecorded: the recorded exchange is parsed completely.
func TestScollRecorded(t *testing.T) { checkExchange(t, scollFile) }

// TestScollTshark: tshark and lnetdump find the same messages in the capture of TestScollRecorded.
func TestScollTshark(t *testing.T) {
	effort.OneGoroutine(t)
	capturetest.AgreeWithTshark(t, scollFile)
}
