package scoll_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

// ports lets every node listen on a port that the system chooses.
type ports struct {
	mu   sync.Mutex
	real map[netip.Addr]string // guarded by mu
}

func (p *ports) config() socklnd.Config {
	return socklnd.Config{
		Accept: socklnd.AcceptTrust,
		Listen: func(local netip.AddrPort) (net.Listener, error) {
			l, err := net.Listen("tcp", netip.AddrPortFrom(local.Addr(), 0).String())
			if err == nil {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.real[local.Addr()] = l.Addr().String()
			}
			return l, err
		},
		Dial: func(ctx context.Context, local, remote netip.AddrPort) (net.Conn, error) {
			p.mu.Lock()
			to := p.real[remote.Addr()]
			p.mu.Unlock()
			from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(local.Addr(), 0))
			return (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", to)
		},
	}
}

// tcpNodes starts agents on loopback addresses, each with a service that sums
// what it and its children have.
func tcpNodes(t testing.TB, n int, size int) (agents []*scoll.Agent, members *scoll.Membership) {
	t.Helper()
	p := &ports{real: map[netip.Addr]string{}}
	targets := make([]scoll.Target, n)
	for i := range n {
		driver, err := socklnd.New(p.config())
		if err != nil {
			t.Fatal(err)
		}
		node := lnet.New(lnet.Config{Incarnation: uint64(i + 1), Clock: machine.RealClock()})
		table := portals.New(node)
		conf := lnd.Config{Net: nid.MakeNet(nid.TCP, 0), Interface: fmt.Sprintf("127.0.3.%d", i+1)}
		if _, err := node.AddNI(driver, conf); err != nil {
			t.Fatal(err)
		}
		var cfg scoll.AgentConfig
		cfg.RTT, cfg.Guard = time.Second, 5*time.Second // nothing times out on a busy machine
		agent, err := scoll.Start(table, cfg)
		if err == nil {
			err = agent.RegisterService(summing(size))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			agent.Stop()
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = node.Shutdown(ctx)
		})
		agents = append(agents, agent)
		targets[i] = scoll.Target{NID: node.IDs()[0].NID, Entities: []scoll.Entity{{byte(i)}}}
	}
	members, err := scoll.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	return agents, members
}

// tally is what a node knows of a request.
type tally struct {
	mu   sync.Mutex
	sum  uint64 // guarded by mu
	past int    // guarded by mu: how many of post-reply and our own work are over
	done chan *scoll.Request
}

// half replies when both halves are over: the children's and our own.
func (c *tally) half(r *scoll.Request) {
	c.mu.Lock()
	c.past++
	both, sum := c.past == 2, c.sum
	c.mu.Unlock()
	if both && !r.Root() {
		_ = r.Reply(binary.LittleEndian.AppendUint64(nil, sum))
	}
}

func (c *tally) add(n uint64) {
	c.mu.Lock()
	c.sum += n
	c.mu.Unlock()
}

// summing is a service in which each node counts one, plus the length of its
// bulk data.
func summing(size int) scoll.Service {
	own := func(r *scoll.Request) *tally { return r.Data.(*tally) }
	return scoll.Service{
		ID: service,
		PreRequest: func(r *scoll.Request) error {
			r.Data = &tally{}
			if r.BulkLength() > 0 {
				if err := r.SetBulk(make([]byte, r.BulkLength())); err != nil {
					return err
				}
			}
			return postSums(r, size)
		},
		IncomingRequest: func(r *scoll.Request) error {
			own(r).add(1)
			for _, b := range r.Bulk() {
				own(r).add(uint64(bytes.Count(b, []byte{7})))
			}
			own(r).half(r)
			return nil
		},
		IncomingReply: func(p *scoll.Reply) {
			if p.Status == scoll.OK {
				own(p.Request).add(binary.LittleEndian.Uint64(p.Payload))
			}
		},
		PostReply: func(r *scoll.Request) {
			if r.Root() {
				own(r).done <- r
				return
			}
			own(r).half(r)
		},
	}
}

func (c *tally) total() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

func postSums(r *scoll.Request, size int) error {
	for i := range r.Children() {
		if err := r.PostReply(i, make([]byte, size)); err != nil {
			return err
		}
	}
	return nil
}

// send broadcasts from a node and waits for the sum.
func send(t testing.TB, g *scoll.Group, cfg scoll.RequestConfig) (sum uint64, unreached int) {
	r, err := g.NewRequest(cfg)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	c := &tally{done: make(chan *scoll.Request, 1)}
	r.Data = c
	if err = postSums(r, 8); err == nil {
		err = r.Send()
	}
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	<-c.done
	return c.total(), len(r.Unreached())
}

// TestRealNetwork: SC-1, SC-49: over TCP and with real goroutines, several roots
// broadcast at the same time, some with bulk data.
func TestRealNetwork(t *testing.T) {
	const n, rounds = 6, 20
	agents, members := tcpNodes(t, n, 8)
	var wg sync.WaitGroup
	for root, a := range agents {
		made := make(chan *scoll.Group, 1)
		a.CreateGroup(scoll.GroupConfig{
			Service: service, Members: members, Tree: scoll.Tree{Type: scoll.KNomial, K: 2}, Now: root%2 == 0,
			Done: func(g *scoll.Group, err error) {
				if err != nil {
					t.Error(err)
				}
				made <- g
			},
		})
		g := <-made
		for worker := range 3 {
			wg.Go(func() {
				for range rounds {
					cfg, want := scoll.RequestConfig{Payload: []byte("x")}, uint64(n)
					if worker == 1 {
						bulk := bytes.Repeat([]byte{7}, 10_000*(1+root))
						cfg.Bulk, want = [][]byte{bulk}, want+uint64(len(bulk)*n)
					}
					if sum, unreached := send(t, g, cfg); sum != want || unreached != 0 {
						t.Errorf("root %d: sum %d, want %d, %d unreached", root, sum, want, unreached)
					}
				}
			})
		}
	}
	wg.Wait()
}

func BenchmarkTCP(b *testing.B) {
	for _, n := range []int{4, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			agents, members := tcpNodes(b, n, 8)
			made := make(chan *scoll.Group, 1)
			agents[0].CreateGroup(scoll.GroupConfig{
				Service: service, Members: members, Tree: scoll.Tree{Type: scoll.KAry, K: 8}, Now: true,
				Done: func(g *scoll.Group, err error) {
					if err != nil {
						b.Error(err)
					}
					made <- g
				},
			})
			g := <-made
			payload := make([]byte, 2048)
			b.ReportAllocs()
			for b.Loop() {
				if sum, _ := send(b, g, scoll.RequestConfig{Payload: payload}); sum != uint64(n) {
					b.Fatalf("sum %d", sum)
				}
			}
		})
	}
}
