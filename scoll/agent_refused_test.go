package scoll_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// sendAt creates a request at node 0, calls a function, and sends the request.
func (s *stacks) sendAt(g *scoll.Group, cfg scoll.RequestConfig, between func(r *scoll.Request)) (err error) {
	s.t.Helper()
	s.fabric.Do(0, func(*simlnd.Host) {
		var r *scoll.Request
		if r, err = g.NewRequest(cfg); err != nil {
			return
		}
		if err = s.nodes[0].post(r); err == nil {
			between(r)
			err = r.Send()
		}
	})
	s.run(time.Second)
	return err
}

// TestRefusedAfterAll: SC-130, SC-A20: Send refuses a request that was valid when it was
// created and is not valid any more. No member gets it, and no callback is called.
func TestRefusedAfterAll(t *testing.T) {
	spec.Covers(t, "SC-130", "SC-A20")
	s, views := watched(t, 8)
	g := s.group(0, true, scoll.Tree{})
	err := s.sendAt(g, scoll.RequestConfig{Live: true}, func(*scoll.Request) {
		views[0].tell(s.members.NID(5), false, 1)
	})
	done := s.nodes[0].done
	if !errors.Is(err, scoll.ESTALE) || len(done) != 0 || len(s.nodes[3].ran) != 0 {
		t.Fatalf("%v, %+v", err, done)
	}
	for id := range s.nodes {
		s.died(views, id, 5)
	}
	err = s.sendAt(g, scoll.RequestConfig{Live: true}, func(*scoll.Request) {})
	if done = s.nodes[0].done; err != nil || len(done) != 1 || done[0].status != scoll.OK || len(done[0].answered) != 7 {
		t.Errorf("then %v, %+v", err, done)
	}
}

// TestSendRefused checks the errors of Send (SC-30, SC-72).
func TestSendRefused(t *testing.T) {
	spec.Covers(t, "SC-12", "SC-30", "SC-72", "SC-A12")
	s := newStacks(t, 4, nil)
	g := s.group(0, true, scoll.Tree{})
	if err := s.sendAt(g, scoll.RequestConfig{}, func(r *scoll.Request) { r.Abort() }); !errors.Is(err, scoll.ECANCELED) {
		t.Errorf("aborted before: %v", err)
	}
	if err := s.sendAt(g, scoll.RequestConfig{Processing: time.Hour}, func(*scoll.Request) {}); !errors.Is(err, scoll.EINVAL) {
		t.Errorf("longer than any: %v", err)
	}
	if err := s.sendAt(g, scoll.RequestConfig{Last: true}, func(*scoll.Request) {
		r, err := g.NewRequest(scoll.RequestConfig{})
		if err == nil {
			_ = s.nodes[0].post(r)
			err = r.Send()
		}
		if err != nil {
			t.Error(err)
		}
	}); !errors.Is(err, scoll.EBUSY) {
		t.Errorf("SC-A12: the last while another is under way: %v", err)
	}
	if err := s.sendAt(g, scoll.RequestConfig{}, func(*scoll.Request) {
		s.nodes[0].agent.UnregisterService(service)
	}); !errors.Is(err, scoll.ENOSERVICE) {
		t.Errorf("SC-12: without its service: %v", err)
	}
	if err := s.nodes[3].kept.Send(); !errors.Is(err, scoll.EINVAL) {
		t.Errorf("at a member: %v", err)
	}
	if requests, _ := s.nodes[0].agent.Held(); requests != 0 || len(s.nodes[0].done) != 1 {
		t.Errorf("%d requests are left, %d ended", requests, len(s.nodes[0].done))
	}
}

// TestMapsNothing: SC-93 and SC-94: a member whose service does not know an out-of-band group,
// or fails to map it, is unreached with the reason.
func TestMapsNothing(t *testing.T) {
	spec.Covers(t, "SC-93", "SC-94")
	for _, c := range []struct {
		members func() (*scoll.Membership, error)
		want    scoll.Status
	}{
		{func() (*scoll.Membership, error) { return nil, nil }, scoll.ENOGROUP},
		{func() (*scoll.Membership, error) { return nil, scoll.EPERM }, scoll.EPERM},
		{func() (*scoll.Membership, error) { return nil, errors.New("no idea") }, scoll.EIO},
	} {
		s := newStacks(t, 2, nil)
		maps := s.nodes[1].service()
		maps.MapGroup = func(scoll.OOBID) (*scoll.Membership, error) { return c.members() }
		s.nodes[1].agent.UnregisterService(service)
		if err := s.nodes[1].agent.RegisterService(maps); err != nil {
			t.Fatal(err)
		}
		o := s.broadcast(0, s.oobOr(t, true), scoll.RequestConfig{Processing: time.Second})
		if len(o.unreached) != 1 || o.unreached[0].Status != c.want || o.at > 3*time.Millisecond {
			t.Errorf("unreached %v after %v, want %v", o.unreached, o.at, c.want)
		}
	}
}

// TestOwnTimeout: SC-38: if a service sets a timeout on its own node that is longer than the root's Processing, the
// agent waits for the service for that time, and counts the request in Stats.LongWaits.
func TestOwnTimeout(t *testing.T) {
	spec.Covers(t, "SC-38")
	s := newStacks(t, 4, nil)
	for _, k := range s.nodes[1:] {
		slow := k.service()
		pre := slow.PreRequest
		slow.PreRequest = func(r *scoll.Request) error {
			r.SetTimeout(time.Duration(k.id) * time.Millisecond)
			return pre(r)
		}
		k.agent.UnregisterService(service)
		if err := k.agent.RegisterService(slow); err != nil {
			t.Fatal(err)
		}
	}
	s.all(s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{Processing: 2 * time.Millisecond}), []string{""})
	for _, k := range s.nodes {
		if long := k.agent.Stats().LongWaits; long != map[bool]uint64{true: 1}[k.id == 3] {
			t.Errorf("node %d: %d long waits", k.id, long)
		}
	}
}

// TestMaxPayloadOfAgents: SC-10: the maximum payload of a message can be configured: with a
// lower one longer replies need parts, and bulk data needs more GETs.
func TestMaxPayloadOfAgents(t *testing.T) {
	spec.Covers(t, "SC-10")
	const limit = 64 << 10
	s := newStacks(t, 2, func(_ int, cfg *scoll.Config) { cfg.MaxPayload = limit })
	room := limit - wire.ReplyHeaderSize - wire.TrailerEntrySize
	g := s.group(0, true, scoll.Tree{})
	for _, k := range s.nodes {
		k.parts, k.size = 2, room
	}
	s.broadcast(0, g, scoll.RequestConfig{Bulk: [][]byte{make([]byte, 5*limit+1)}})
	if len(s.nodes[0].replies) != 2 || len(s.nodes[1].errs) != 0 {
		t.Errorf("%d replies, %v", len(s.nodes[0].replies), s.nodes[1].errs)
	}
	counts := s.nodes[1].table.Node().Stats()
	s.nodes[1].size, s.nodes[0].size = room+1, room+1
	s.broadcast(0, g, scoll.RequestConfig{})
	if errs := s.nodes[1].errs; len(errs) != 1 || !errors.Is(errs[0], scoll.EMSGSIZE) {
		t.Errorf("a byte too many: %v", errs)
	}
	if sent := counts.SendCount; sent != 1+6+2 { // a reply to the creation, six GETs, two parts
		t.Errorf("%d messages", sent)
	}
}
