package scoll_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// tally is the state of a request at a node.
type tally struct {
	mu   sync.Mutex
	sum  uint64 // sum of the answers; guarded by mu
	past int    // how many of the two, PostReply and this node's own work, have ended; guarded by mu
	done chan *scoll.Request

	unreached int // number of unreached members; set at the root before the request is sent to the channel done
}

// half is called twice for each request: when the children's answers are there, and when this node's own work
// is done. The second call sends the reply.
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
		ID: 9,
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
			if p.Status == scoll.OK && len(p.Payload) > 0 { // empty: the module answered in place of the service
				own(p.Request).add(binary.LittleEndian.Uint64(p.Payload))
			}
		},
		PostReply: func(r *scoll.Request) {
			if r.Root() {
				own(r).unreached = len(r.Unreached())
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

// send makes a broadcast whose root is the node of g. It returns the sum of the replies, and the
// number of unreached members.
func send(t *testing.T, g *scoll.Group, cfg scoll.RequestConfig) (sum uint64, unreached int) {
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
	return c.total(), c.unreached
}

// TestConcurrent: SC-1, SC-42: services run in goroutines, and several goroutines at each root broadcast at
// the same time, some with bulk data, while the network delivers messages. On every second node the agent
// reuses handles.
func TestConcurrent(t *testing.T) {
	spec.Covers(t, "SC-1", "SC-42")
	const n = 6
	rounds := effort.Of(6, 15, 15)
	s := newStacks(t, n, func(_ int, cfg *scoll.Config) {
		cfg.RTT, cfg.MaxTimeout = time.Hour, 24*time.Hour // long, because virtual time runs faster than the goroutines
		cfg.Worker = func(f func()) { go f() }
	})
	groups := make([]*scoll.Group, n)
	for i, k := range s.nodes {
		service := summing(8)
		service.Reuse = i%2 == 0
		if err := k.agent.RegisterService(service); err != nil {
			t.Fatal(err)
		}
		s.fabric.Do(sim.NodeID(i), func(*simlnd.Host) {
			k.agent.CreateGroup(scoll.GroupConfig{Service: 9, Members: s.members, Done: func(g *scoll.Group, err error) {
				if groups[i] = g; err != nil {
					t.Error(err)
				}
			}})
		})
	}
	s.run(time.Millisecond)
	var wg sync.WaitGroup
	for root, g := range groups {
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
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	for {
		select {
		case <-over:
			return
		default:
			s.run(time.Millisecond)
			runtime.Gosched()
		}
	}
}
