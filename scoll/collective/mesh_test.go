package collective_test

import (
	"context"
	"sync"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

// station is a node whose driver delivers messages in memory, so that it can run in the virtual
// time of package synctest.
type station struct {
	t     *testing.T
	nid   nid.NID
	table *portals.Table
	up    lnd.Upcalls
	all   map[nid.NID]*station
	queue chan arrival
	drop  func(*lnd.Message) bool // if set: reports messages that do not arrive
	once  sync.Once
}

// arrival is a message on its way to a station.
type arrival struct {
	from *station
	m    *lnd.Message
}

// mesh connects n nodes in memory, and starts an agent on each.
func mesh(t *testing.T, n int, cfg scoll.Config) (agents []*scoll.Agent, nids []nid.NID) {
	t.Helper()
	return meshWith(t, n, cfg, nil)
}

// meshWith is mesh with stations for which drop, if it is not nil, reports the messages that do not arrive.
func meshWith(t *testing.T, n int, cfg scoll.Config, drop func(*lnd.Message) bool) (agents []*scoll.Agent, nids []nid.NID) {
	t.Helper()
	all := make(map[nid.NID]*station)
	for i := range n {
		s := &station{t: t, nid: nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(i)+1), all: all, queue: make(chan arrival, 1024), drop: drop}
		all[s.nid] = s
		s.table = portals.New(lnet.New(lnet.Config{Incarnation: uint64(i) + 1, Clock: machine.RealClock()}))
		for _, d := range []lnd.Driver{lo.Driver{}, s} {
			if _, err := s.table.Node().AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := discovery.NewTarget(s.table); err != nil {
			t.Fatal(err)
		}
		agent, err := scoll.New(s.table, cfg)
		if err != nil {
			t.Fatal(err)
		}
		agents, nids = append(agents, agent), append(nids, s.nid)
	}
	for _, s := range all {
		go s.deliver()
	}
	t.Cleanup(func() {
		for _, a := range agents {
			_ = a.Close(context.Background())
		}
		for _, s := range all {
			_ = s.Shutdown(context.Background())
		}
	})
	return agents, nids
}

func (s *station) Type() nid.NetType { return nid.GNI }

func (s *station) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	s.up = up
	return s, nil
}

func (s *station) NID() nid.NID { return s.nid }

func (s *station) Send(m *lnd.Message) { s.all[m.Header.DestNID].queue <- arrival{s, m} }

func (s *station) Recv(*lnd.Delivery) {}

func (s *station) Shutdown(context.Context) error {
	s.once.Do(func() { close(s.queue) })
	return nil
}

// deliver delivers the messages to a station in the order in which they were sent.
func (s *station) deliver() {
	for a := range s.queue {
		if s.drop != nil && s.drop(a.m) {
			a.from.up.Finalize(a.m, nil)
			continue
		}
		in := &lnd.Delivery{Header: a.m.Header, From: nid.ProcessID{NID: a.m.Header.SrcNID, PID: a.m.Header.SrcPID}}
		if outcome, err := s.up.Parse(in); err != nil || outcome != lnd.Accept {
			s.t.Errorf("outcome %v, %v", outcome, err)
		}
		lnd.Copy(in.Sink, a.m.Payload)
		a.from.up.Finalize(a.m, nil)
		s.up.Delivered(in, nil)
	}
}
