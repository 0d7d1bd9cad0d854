package health

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"ulnet/health"
	"ulnet/lnet/nid"
)

// aPage has all parts of a page.
func aPage() clientPage {
	peer := nid.ProcessID{NID: nid.MustParse("10.0.0.9@tcp"), PID: nid.LustrePID}
	return clientPage{quorum: true, total: 3, clients: []health.ClientInfo{
		{Client: health.ClientID{1}, Incarnation: 2, Epoch: 3, Peer: peer, Master: nid.MustParse("10.0.0.1@tcp"), State: "orphaned", Name: "ab"},
		{Client: health.ClientID{2}, Incarnation: 1 << 63, Peer: peer, State: "connected"},
	}}
}

// TestPageFormat: the encoding of a page is the same as golden bytes. Each truncation of them is an
// error, entries that do not fit are left out, and invalid pages and questions are refused.
func TestPageFormat(t *testing.T) {
	p := aPage()
	b := p.appendBinary(nil, pageRoom)
	const want = "01020200" + "03000000" +
		"01000000000000000000000000000000" + "0200000000000000" + "03000000" + "39300000" +
		"000200000a000009000000000000000000000000" + "000200000a000001000000000000000000000000" + "0102" + "6162" +
		"02000000000000000000000000000000" + "0000000000000080" + "00000000" + "39300000" +
		"000200000a000009000000000000000000000000" + "0000000000000000000000000000000000000000" + "0000"
	if got := hex.EncodeToString(b); got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	got, err := parsePage(b, health.ClientID{})
	if err != nil || got.more || !got.quorum || got.total != 3 || !slices.Equal(got.clients, p.clients) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if _, err := parsePage(b[:n], health.ClientID{}); err == nil {
			t.Errorf("the first %d bytes are a page", n)
		}
	}
	if _, err := parsePage(b, health.ClientID{1}); !errors.Is(err, errPage) {
		t.Errorf("a client that was not asked for: %v", err)
	}
	if got, err = parsePage(p.appendBinary(nil, len(b)-1), health.ClientID{}); err != nil || !got.more || len(got.clients) != 1 {
		t.Errorf("too long by a byte: %+v, %v", got, err)
	}
	if _, err := parsePage([]byte{pageVersion, pageMore, 0, 0, 0, 0, 0, 0}, health.ClientID{}); !errors.Is(err, errPage) {
		t.Errorf("nothing, and more: %v", err)
	}
	p.clients[0].Name = "a\x1b[2J"
	if got, _ := parsePage(p.appendBinary(nil, pageRoom), health.ClientID{}); got.clients[0].Name != "?" {
		t.Errorf("%q is shown", got.clients[0].Name)
	}
	ask := appendPageAsk(nil, health.ClientID{7})
	if after, err := parsePageAsk(ask); err != nil || after != (health.ClientID{7}) {
		t.Errorf("%v, %v", after, err)
	}
	for _, bad := range [][]byte{nil, ask[:len(ask)-1], append(ask, 0), append([]byte{2}, ask[1:]...)} {
		if _, err := parsePageAsk(bad); !errors.Is(err, errPage) {
			t.Errorf("%x is a question: %v", bad, err)
		}
	}
}

// FuzzPage: in any page that parses, clients are in order and after the given one, and encoding
// the page gives the same bytes.
func FuzzPage(f *testing.F) {
	p := aPage()
	b := p.appendBinary(nil, pageRoom)
	f.Add(b, []byte{0})
	f.Add(b[:pageHeadSize], []byte{1})
	f.Add(p.appendBinary(nil, len(b)-1), []byte{})
	f.Fuzz(func(t *testing.T, b, behind []byte) {
		var after health.ClientID
		copy(after[:], behind)
		p, err := parsePage(b, after)
		if err != nil {
			return
		}
		for _, c := range p.clients {
			if c.Client.Compare(after) <= 0 {
				t.Fatalf("%v after %v", c.Client, after)
			}
			after = c.Client
		}
		again, err := parsePage(p.appendBinary(nil, len(b)+1), health.ClientID{})
		if err != nil || len(again.clients) != len(p.clients) || again.more != p.more {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

// TestMergePages: a server that has more clients than fit its page has not yet reported about the
// clients after that page. The result ends where the first such page ends: it leaves out all later
// clients.
func TestMergePages(t *testing.T) {
	one, two := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	info := func(id byte, epoch uint32) health.ClientInfo {
		return health.ClientInfo{Client: health.ClientID{id}, Epoch: epoch, State: "connected", Master: one}
	}
	pages := map[nid.NID]clientPage{
		one: {more: true, clients: []health.ClientInfo{info(1, 1), info(3, 1)}},
		two: {more: true, clients: []health.ClientInfo{info(1, 1), info(2, 1), info(3, 2), info(9, 1)}},
	}
	clients, after, more := mergePages(pages)
	if len(clients) != 3 || after != (health.ClientID{3}) || !more {
		t.Fatalf("%+v, %v, %v", clients, after, more)
	}
	for i, want := range []struct {
		views  int
		differ bool
	}{{1, false}, {1, false}, {2, true}} {
		if c := clients[i]; len(c.Views) != want.views || c.Differ != want.differ || c.Client != (health.ClientID{byte(i + 1)}) {
			t.Errorf("%+v", c)
		}
	}
	if v := clients[0].Views[0].Servers; !slices.Equal(v, []nid.NID{one, two}) {
		t.Errorf("%v", v)
	}
	pages[one] = clientPage{clients: pages[one].clients}
	if clients, _, more = mergePages(pages); len(clients) != 4 || !more {
		t.Errorf("%+v, %v", clients, more)
	}
	if clients, _, more = mergePages(nil); len(clients) != 0 || more {
		t.Errorf("%+v, %v", clients, more)
	}
}
