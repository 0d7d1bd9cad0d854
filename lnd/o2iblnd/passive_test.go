package o2iblnd

import (
	"errors"
	"net/netip"
	"testing"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
)

// asked is a request of a peer for a connection. It notes how the NI answers, and what the NI does
// with the connection.
type asked struct {
	from   netip.AddrPort
	why    kib.Why // reason that the NI gives in its reject
	events func(verbs.Conn, verbs.Event)
	closed int
	posted []uint64 // IDs of the work requests that were posted
	ended  int      // number of calls of Disconnect
}

func (a *asked) Peer() netip.AddrPort { return a.from }

func (*asked) Private() []byte { return nil }

func (a *asked) Reject(private []byte) error {
	r, err := kib.ParseReject(private)
	a.why = r.Why
	return err
}

func (a *asked) Accept(_ verbs.ConnConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	a.events = events
	return a, nil
}

func (*asked) QPN() uint32 { return 7 }

func (a *asked) PostSend(wrs []verbs.SendWR) error {
	for i := range wrs {
		a.posted = append(a.posted, wrs[i].ID)
	}
	return nil
}

func (a *asked) Disconnect() { a.ended++ }

func (a *asked) Close() { a.closed++ }

// request makes the CONNREQ that the peer sends.
func (a *asked) request(ni *NI) *kib.Msg {
	m := &kib.Msg{Params: kib.ConnParams{QueueDepth: 8, MaxFrags: 257, MaxMsgSize: kib.MaxMsgSize}}
	m.Header = kib.Header{Version: kib.V2, Type: kib.ConnReq, SrcNID: nid.FromAddr(ni.nid.Net(), a.from.Addr()), SrcStamp: 5, DstNID: ni.nid}
	return m
}

// TestAcceptedInVain: an accepted connection that is not established leaves no state, whatever
// event of the device reports the failure: both sides can send a request again.
func TestAcceptedInVain(t *testing.T) {
	for name, last := range map[string]verbs.Event{
		"rejected":     {Kind: verbs.Rejected, Reason: 4},
		"no answer":    {Kind: verbs.Unreachable},
		"disconnected": {Kind: verbs.Disconnected},
		"failed":       {Kind: verbs.Disconnected, Status: verbs.RetryExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			up := new(sink)
			at := loopbackAddrs(2)
			ni := start(t, at[0], softroce.Open, Config{}, up)
			defer shut(ni)
			a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
			ni.request(a, a.request(ni))
			if s := ni.Snapshot().Peers[0]; s.Accepting != 1 || a.events == nil {
				t.Fatalf("not accepted: %+v, %v", s, a.why)
			}
			a.events(a, last)
			s := ni.Snapshot().Peers[0]
			if s.Accepting != 0 || s.Connecting != 0 || ni.conns.len() != 0 || a.closed != 1 {
				t.Errorf("left: %+v, %d connections, closed %d times", s, ni.conns.len(), a.closed)
			}
			if len(up.downs) > 0 {
				t.Errorf("down because of a request that anyone can forge: %v", up.downs)
			}
		})
	}
}

// TestFlushed: flushed messages end with the cause that the last event of their connection gives, even if
// they were flushed before that event. If a peer closes the connection, that is no failure of the network.
func TestFlushed(t *testing.T) {
	for _, tt := range []struct {
		status verbs.Status
		want   Reason
	}{{verbs.Success, PeerClosed}, {verbs.RetryExceeded, TransportFailed}} {
		up := new(sink)
		at := loopbackAddrs(2)
		ni := start(t, at[0], softroce.Open, Config{}, up)
		a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
		ni.request(a, a.request(ni))
		a.events(a, verbs.Event{Kind: verbs.Established})
		for range 2 {
			ni.Send(newMessage(ni, nid.FromAddr(ni.nid.Net(), at[1]), 100))
		}
		for _, id := range a.posted {
			ni.completed([]verbs.Completion{{ID: id, Op: verbs.Send, Status: verbs.Flushed}})
		}
		if len(a.posted) != 2 || up.finished != 0 || a.ended == 0 {
			t.Errorf("posted %d, finalized %d, disconnected %d times", len(a.posted), up.finished, a.ended)
		}
		a.events(a, verbs.Event{Kind: verbs.Disconnected, Status: tt.status})
		if len(up.errs) != 2 || len(up.downs) != 1 || ni.conns.len() != 0 || a.closed != 1 {
			t.Fatalf("errors %v, down %v, %d connections, closed %d times", up.errs, up.downs, ni.conns.len(), a.closed)
		}
		for _, err := range append(up.errs, up.downs...) {
			if e := new(Error); !errors.As(err, &e) || e.Reason != tt.want {
				t.Errorf("ended with %v, want %v", err, tt.want)
			}
		}
		shut(ni)
	}
}

// TestRequestInAnothersName: a request whose NID is not of the NI's net, or does not have the
// address from which it came, is refused and creates no peer.
func TestRequestInAnothersName(t *testing.T) {
	at := loopbackAddrs(3)
	ni := start(t, at[0], softroce.Open, Config{}, new(sink))
	defer shut(ni)
	own := nid.FromAddr(ni.nid.Net(), at[1])
	for i, src := range []nid.NID{
		nid.FromAddr(ni.nid.Net(), at[2]), ni.nid,
		{},
		nid.Any(), nid.Lo0(),
		nid.FromAddr(nid.MustParseNet("o2ib9"), at[1]), nid.FromAddr(nid.MustParseNet("tcp"), at[1]),
		nid.FromNumber(nid.MakeNet(200, 0), own.Number()), nid.FromNumber(nid.MakeNet(0, 1), own.Number()),
	} {
		a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
		m := a.request(ni)
		m.SrcNID = src
		ni.request(a, m)
		if a.why != kib.Fatal || a.events != nil || len(ni.Snapshot().Peers) > 0 {
			t.Errorf("%v: reject %v, %d peers", src, a.why, len(ni.Snapshot().Peers))
		}
		if s := ni.Snapshot(); s.Counters.Of(RequestSource) != uint64(i+1) {
			t.Errorf("%v: counted %d times, want %d", src, s.Counters.Of(RequestSource), i+1)
		}
	}
	a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
	if ni.request(a, a.request(ni)); a.events == nil {
		t.Errorf("in its own name: reject %v", a.why)
	}
}
