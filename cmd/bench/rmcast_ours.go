package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// Parameters of all members.
const (
	casterGroup    rmcast.GroupID = 7
	casterFragment                = 4096
	casterPatience                = time.Minute
)

// caster is a member of a multicast group over TCP and UDP. The first member is the manager.
type caster struct {
	*node
	rank     int
	agent    *rmcast.Agent
	group    *rmcast.Group
	receipts casterReceiver

	// The fields below are the state of a run of oneByOne.
	payload []byte
	number  uint64
	left    int
	count   int
	began   time.Time
	took    latencies
	done    chan error
}

func newCaster(setup memberSetup) *caster {
	c := &caster{rank: setup.Rank, done: make(chan error, 1)}
	self := setup.Addrs[setup.Rank]
	c.node = newNodeWith(self, socklnd.Config{AcceptPort: setup.Port, BusyPoll: setup.BusyPoll}, lnd.Tunables{})
	fragment := cmp.Or(setup.Fragment, casterFragment)
	c.agent = must(rmcast.New(c.table, rmcast.Config{Fragment: fragment, Buffers: 256}))
	managers := []nid.NID{nid.FromAddr(tcp, setup.Addrs[0])}
	if setup.Rank == 0 {
		succeed(c.agent.Manage(rmcast.ManagerConfig{Group: casterGroup, Managers: managers, Window: setup.Window, Fragment: fragment}))
	}
	c.join(managers)
	return c
}

func (c *caster) join(managers []nid.NID) {
	c.group = must(c.agent.Join(rmcast.GroupConfig{
		Group: casterGroup, Managers: managers,
		Handle: func(m *rmcast.Message) { c.receipts.take(m.Origin.NID.Addr(), m.Data) },
	}))
}

// gather waits until all members have joined and c may send to them.
func (c *caster) gather(members int) error {
	ctx, cancel := context.WithTimeout(context.Background(), casterPatience)
	defer cancel()
	return await(ctx, casterPatience, func() bool {
		s := c.group.Status()
		return len(s.Members) == members && s.Usable == s.Version
	})
}

// oneByOne sends each message after all members have received the one before. The method released,
// which is called at the completion of a message, sends the next one.
func (c *caster) oneByOne(o casterOrder) (latencies, error) {
	c.payload = make([]byte, o.Bytes)
	c.left, c.count, c.took = o.Warm+o.Count, o.Count, make(latencies, 0, o.Count)
	c.next()
	err := <-c.done
	return c.took, err
}

func (c *caster) next() {
	fillMessage(c.payload, c.number)
	c.number++
	c.began = time.Now()
	c.group.Post(c.payload, c.released)
}

// released is called when all members have received a message. It sends the next one, if any is
// left.
func (c *caster) released(r rmcast.Result, err error) {
	elapsed := time.Since(c.began)
	if err == nil && len(r.Failed) > 0 {
		err = fmt.Errorf("%d members failed", len(r.Failed))
	}
	if c.left--; c.left < c.count {
		c.took = append(c.took, float64(elapsed))
	}
	if err == nil && c.left > 0 {
		c.next()
		return
	}
	c.done <- err
}

// stream sends messages as the window allows, and returns how long it took until all members had
// all messages.
func (c *caster) stream(o casterOrder) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*casterPatience)
	defer cancel()
	payload := make([]byte, o.Bytes)
	flight := make(chan *rmcast.Sending, 8192) // its capacity is larger than the window, so that only the window bounds the messages in flight
	all := make(chan error, 1)
	go func() {
		var failed error
		for s := range flight {
			if _, err := s.Wait(ctx); err != nil && failed == nil {
				failed = err
			}
		}
		all <- failed
	}()
	began := time.Now()
	var err error
	for i := 0; i < o.Count && err == nil; i++ {
		pace(began, i, o.Rate)
		fillMessage(payload, c.number)
		c.number++
		var s *rmcast.Sending
		if s, err = c.group.SendAsync(ctx, payload); err == nil {
			flight <- s
		}
	}
	close(flight)
	if failed := <-all; err == nil {
		err = failed
	}
	return time.Since(began), err
}

// pace waits until message i of a stream is due, at rate messages per second. It returns at once
// if the wait would be shorter than a millisecond, because the timers of the system are not so
// exact.
func pace(began time.Time, i int, rate float64) {
	if rate == 0 {
		return
	}
	if early := time.Duration(float64(i)/rate*1e9) - time.Since(began); early > time.Millisecond {
		time.Sleep(early)
	}
}

func (c *caster) report() casterReport {
	s := c.group.Stats()
	return casterReport{Received: c.receipts.seen(), Sent: s.Datagrams, Repairs: s.Repairs}
}

func (c *caster) close() {
	_ = c.agent.Close(context.Background()) // this cannot fail, because no message is in flight any more
	c.node.close()
}
