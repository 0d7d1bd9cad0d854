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
)

// startMemberlist starts a node of memberlist with its defaults for a LAN, or
// with these in the proportion of the interval.
func (o *options) startMemberlist(count *sent) (participant, error) {
	cfg := memberlist.DefaultLANConfig()
	if o.asNode == "memberlist" {
		scale := func(d *time.Duration) {
			*d = time.Duration(float64(*d) * float64(o.interval) / float64(memberlist.DefaultLANConfig().ProbeInterval))
		}
		scale(&cfg.ProbeInterval)
		scale(&cfg.ProbeTimeout)
		scale(&cfg.GossipInterval)
	}
	cfg.Name = strconv.Itoa(o.index)
	cfg.BindAddr, cfg.AdvertiseAddr = addressOf(o.index).String(), addressOf(o.index).String()
	cfg.BindPort, cfg.AdvertisePort = int(o.port), int(o.port)
	cfg.Events = theirEvents{}
	m := new(theirMember)
	cfg.Delegate = m
	cfg.Logger = log.New(io.Discard, "", 0)
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{cfg.BindAddr}, BindPort: cfg.BindPort, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	cfg.Transport = &countingTransport{transport, count}
	if m.list, err = memberlist.Create(cfg); err != nil || o.index == 0 {
		return m, err
	}
	first := net.JoinHostPort(addressOf(0).String(), strconv.Itoa(int(o.port)))
	for try := 0; ; try++ { // the first one may not listen yet
		if _, err = m.list.Join([]string{first}); err == nil || try == 50 {
			return m, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// theirMember is a node of memberlist with an attribute, which is called meta there.
type theirMember struct {
	list *memberlist.Memberlist
	meta atomic.Pointer[[]byte]
}

// theirPatience is how long memberlist waits until others have a message; it goes on
// to spread it after that.
const theirPatience = 5 * time.Second

func (m *theirMember) leave() error { return m.list.Leave(theirPatience) }

func (m *theirMember) set(value string) error {
	meta := []byte(value)
	m.meta.Store(&meta)
	return m.list.UpdateNode(theirPatience)
}

// NodeMeta implements memberlist.Delegate, as do those below.
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

// theirEvents tells the parent what memberlist tells its users.
type theirEvents struct{}

func (theirEvents) NotifyJoin(n *memberlist.Node)   { tell(theirIndex(n), true) }
func (theirEvents) NotifyLeave(n *memberlist.Node)  { tell(theirIndex(n), false) }
func (theirEvents) NotifyUpdate(n *memberlist.Node) { say("attr", theirIndex(n), string(n.Meta)) }

func theirIndex(n *memberlist.Node) int {
	i, err := strconv.Atoi(n.Name)
	if err != nil {
		panic(fmt.Sprintf("a node called %q", n.Name))
	}
	return i
}

// countingTransport counts packets and the bytes of streams.
type countingTransport struct {
	*memberlist.NetTransport
	count *sent
}

func (t *countingTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	t.count.add(len(b))
	return t.NetTransport.WriteTo(b, addr)
}

func (t *countingTransport) WriteToAddress(b []byte, addr memberlist.Address) (time.Time, error) {
	t.count.add(len(b))
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
	count *sent
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.count.add(len(b))
	return c.Conn.Write(b)
}
