package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"ulnet/cmd/bench/rival"
)

// startMemberlist starts a node of memberlist with its defaults for a LAN.
func startMemberlist(n rival.Node, s *rival.Watcher) (rival.Member, error) {
	return startWith(memberlist.DefaultLANConfig(), n, s)
}

// scaled starts a node of memberlist. Its settings are the defaults for a LAN, scaled to the
// given interval.
func scaled(n rival.Node, s *rival.Watcher) (rival.Member, error) {
	cfg := memberlist.DefaultLANConfig()
	factor := float64(n.Interval) / float64(cfg.ProbeInterval)
	for _, d := range []*time.Duration{&cfg.ProbeInterval, &cfg.ProbeTimeout, &cfg.GossipInterval} {
		*d = time.Duration(float64(*d) * factor)
	}
	return startWith(cfg, n, s)
}

func startWith(cfg *memberlist.Config, n rival.Node, s *rival.Watcher) (rival.Member, error) {
	cfg.Name = strconv.Itoa(n.Index)
	cfg.BindAddr, cfg.AdvertiseAddr = n.Self().String(), n.Self().String()
	cfg.BindPort, cfg.AdvertisePort = int(n.Port), int(n.Port)
	cfg.Events = theirEvents{s}
	m := new(theirMember)
	cfg.Delegate = m
	cfg.Logger = log.New(io.Discard, "", 0)
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{cfg.BindAddr}, BindPort: cfg.BindPort, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	cfg.Transport = &countingTransport{transport, s}
	if m.list, err = memberlist.Create(cfg); err != nil || n.Index == 0 {
		return m, err
	}
	first := net.JoinHostPort(n.Addr(0).String(), strconv.Itoa(int(n.Port)))
	for try := 0; ; try++ { // joining is tried again, because the first node may not listen yet
		if _, err = m.list.Join([]string{first}); err == nil || try == 50 {
			return m, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// theirMember is a node of memberlist. Its attribute is what memberlist calls the meta data of a
// node.
type theirMember struct {
	list *memberlist.Memberlist
	meta atomic.Pointer[[]byte]
}

// theirPatience is the time that calls of memberlist wait until a message has been sent. The
// message continues to spread after that.
const theirPatience = 5 * time.Second

func (m *theirMember) Leave() error { return m.list.Leave(theirPatience) }

func (m *theirMember) Set(value string) error {
	meta := []byte(value)
	m.meta.Store(&meta)
	return m.list.UpdateNode(theirPatience)
}

// NodeMeta and the methods below implement memberlist.Delegate.
func (m *theirMember) NodeMeta(int) []byte {
	if p := m.meta.Load(); p != nil {
		return *p
	}
	return nil
}
func (m *theirMember) NotifyMsg([]byte)                {}
func (m *theirMember) GetBroadcasts(_, _ int) [][]byte { return nil }
func (m *theirMember) LocalState(bool) []byte          { return nil }
func (m *theirMember) MergeRemoteState([]byte, bool)   {}

// theirEvents reports the events of memberlist to the watcher s.
type theirEvents struct{ s *rival.Watcher }

func (e theirEvents) NotifyJoin(n *memberlist.Node)  { e.s.Alive(theirIndex(n), true) }
func (e theirEvents) NotifyLeave(n *memberlist.Node) { e.s.Alive(theirIndex(n), false) }
func (e theirEvents) NotifyUpdate(n *memberlist.Node) {
	e.s.Tell(rival.Attribute, theirIndex(n), string(n.Meta))
}

func theirIndex(n *memberlist.Node) int {
	i, err := strconv.Atoi(n.Name)
	if err != nil {
		panic(fmt.Sprintf("a node called %q", n.Name))
	}
	return i
}

// countingTransport counts the bytes of packets and streams that this node sends.
type countingTransport struct {
	*memberlist.NetTransport
	count *rival.Watcher
}

func (t *countingTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	t.count.Sent(len(b))
	return t.NetTransport.WriteTo(b, addr)
}

func (t *countingTransport) WriteToAddress(b []byte, addr memberlist.Address) (time.Time, error) {
	t.count.Sent(len(b))
	return t.NetTransport.WriteToAddress(b, addr)
}

func (t *countingTransport) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	c, err := t.NetTransport.DialAddressTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	return &countingConn{c, t.count}, nil
}

type countingConn struct {
	net.Conn
	count *rival.Watcher
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.count.Sent(len(b))
	return c.Conn.Write(b)
}
