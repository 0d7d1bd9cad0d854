package dissection

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ulnet/gossip/zone/engine"
	zonewire "ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

var zonePut = wire.PutCmd{MatchBits: zonewire.Bits, Portal: zonewire.Portal}

// zoneTalk returns the messages, by kind, that the state machines of a base zone and of a supervisor send to each
// other. One of the nodes becomes silent after a while, so that there are messages about its failure, too.
func zoneTalk(tb testing.TB) map[string][][]byte {
	tb.Helper()
	const nodes, supervisor = 5, 4
	id := func(i int) zonewire.ID {
		return zonewire.MustParseID(fmt.Sprintf("n%d=10.0.0.%d@tcp", i, i+1))
	}
	at := make(map[nid.NID]int)
	machines := make([]*engine.Machine, nodes)
	talk := make(map[string][][]byte)
	type input struct {
		to int
		in engine.Input
	}
	var queue []input
	for i := range nodes {
		cfg := engine.Config{Zone: "base", Self: id(i), Bootstrap: []zonewire.ID{id((i + 1) % supervisor)}, Management: []zonewire.ID{id(supervisor)}, Wire: true}
		if i == supervisor {
			cfg.Zone, cfg.Bootstrap, cfg.Management, cfg.Supervisor = "management", nil, nil, true
		}
		m, err := engine.New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		machines[i], at[id(i).Endpoints()[0]] = m, i
		queue = append(queue, input{i, engine.Input{Kind: engine.Join, Inc: 7}})
	}
	silent := false
	step := func(now time.Duration, i int, in engine.Input) {
		var out engine.Output
		machines[i].Step(now, in, &out)
		say := func(to nid.NID, b []byte) {
			b = append([]byte(nil), b...)
			kind := zoneKind(tb, b)
			talk[kind] = append(talk[kind], b)
			queue = append(queue, input{at[to], engine.Input{Kind: engine.Arrived, Data: b, Peer: id(i).Endpoints()[0]}})
		}
		for k := range out.Sends {
			to := out.Sends[k].NID
			if p := out.Sends[k].To; p != 0 {
				to = machines[i].Table().ID(p).Endpoints()[0]
			}
			say(to, out.Buf[out.Sends[k].Begin:out.Sends[k].End])
		}
		for k := range out.Dispatches {
			d := &out.Dispatches[k]
			say(d.To.Endpoints()[0], out.Buf[d.Begin:d.End])
		}
	}
	for now := time.Second; now < time.Minute; now += 20 * time.Millisecond {
		switch now {
		case 10 * time.Second:
			queue = append(queue, input{0, engine.Input{Kind: engine.Set, Key: engine.MonitorKey}},
				input{1, engine.Input{Kind: engine.Set, Key: "role", Value: []byte(strings.Repeat("mds ", 50))}},
				input{supervisor, engine.Input{Kind: engine.QueryZone, Key: "base", Number: 3}})
		case 20 * time.Second:
			silent = true
		case 50 * time.Second:
			queue = append(queue, input{1, engine.Input{Kind: engine.Leave, Code: -3}})
		}
		batch := queue
		queue = nil
		for _, q := range batch {
			if !silent || q.to != 3 {
				step(now, q.to, q.in)
			}
		}
		for i := range nodes {
			if !silent || i != 3 {
				step(now, i, engine.Input{Kind: engine.Timer})
			}
		}
	}
	return talk
}

// zoneKind returns the kind of a message.
func zoneKind(tb testing.TB, b []byte) string {
	tb.Helper()
	if zonewire.IsDispatch(b) {
		d, _, err := zonewire.ParseDispatch(b)
		if err != nil {
			tb.Fatal(err)
		}
		return d.Kind.String()
	}
	s, err := zonewire.ParseMessage(b)
	if err != nil {
		tb.Fatal(err)
	}
	return s.Kind.String()
}

// TestZoneKinds: each kind of message has its own text.
func TestZoneKinds(t *testing.T) {
	talk := zoneTalk(t)
	for kind, want := range map[string]string{
		"heartbeat":         `^zone heartbeat, #[0-9a-f]{16} 7\.1, view [0-9a-f]{16}, attributes [0-9a-f]{16}`,
		"link-request":      `^zone link-request, n[0-3] 7\.1, as (successor|at random|successor and at random)$`,
		"link-accept":       `^zone link-accept, #[0-9a-f]{16} 7\.1, as `,
		"base":              `^zone base, (#[0-9a-f]{16}|n[0-4]) 7\.1, alive: \d`,
		"update":            `^zone update, (#[0-9a-f]{16}|n[0-4]) 7\.1, alive: \d`,
		"discovery-request": `^zone discovery-request, n[0-3] 7\.1( \(healing\))?$`,
		"discovery-reply":   `^zone discovery-reply, (#[0-9a-f]{16}|n[0-4]) 7\.1, alive: \d`,
		"attribute-digest":  `^zone attribute-digest, #[0-9a-f]{16} 7\.1, tables: \d`,
		"attribute-request": `^zone attribute-request, #[0-9a-f]{16} 7\.1, tables: \d`,
		"attribute-data":    `^zone attribute-data, #[0-9a-f]{16} 7\.1, tables: \d, entries: \d`,
		"notice":            `^zone notice, #[0-9a-f]{16} 7\.1, alive: 0, silences: 1$`,
		"register":          `^zone register, n[0-3] 7\.1, for base, members: [1-4]`,
		"registered":        `^zone registered, n4 7\.1, for base`,
		"alarm":             `^zone alarm, n[0-3] 7\.1, for base, n[0-3] 7\.1 suspected by [12]$`,
	} {
		if len(talk[kind]) == 0 {
			t.Errorf("no %s was sent", kind)
			continue
		}
		for _, b := range talk[kind] {
			is, err := newZones().read(zonePut, b)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if got := is.Summary(); !regexp.MustCompile(want).MatchString(got) {
				t.Fatalf("%s: %s\nwant %s", kind, got, want)
			}
			var e struct {
				Kind string `json:"kind"`
			}
			text, err := json.Marshal(is)
			if err = errors.Join(err, json.Unmarshal(text, &e)); err != nil || e.Kind != kind {
				t.Errorf("%s: %s, %v", kind, text, err)
			}
		}
	}
	details := func(kind string) (text string) {
		for _, b := range talk[kind] {
			is, _ := newZones().read(zonePut, b)
			text += strings.Join(is.Details(), "\n") + "\n"
		}
		return text
	}
	for kind, want := range map[string]string{
		"attribute-data": `"role" = "mds mds `,
		"update":         "code -3",
		"notice":         "silence: of #",
		"base":           "alive: n2=10.0.0.3@tcp 7.1",
		"register":       "joined: n2=10.0.0.3@tcp 7.1",
	} {
		if !strings.Contains(details(kind), want) {
			t.Errorf("the details of no %s have %q", kind, want)
		}
	}
}

// TestZoneNames: once a message has carried the ID of a node, later messages show the name of
// that node; other nodes are shown by their short form.
func TestZoneNames(t *testing.T) {
	talk := zoneTalk(t)
	summary := func(z *zones, b []byte) string {
		is, err := z.read(zonePut, b)
		if err != nil {
			t.Fatal(err)
		}
		return is.Summary() + "\n" + strings.Join(is.Details(), "\n")
	}
	for _, teller := range []string{"link-request", "base", "register"} {
		z := newZones()
		if s := summary(z, talk["heartbeat"][0]); !strings.HasPrefix(s, "zone heartbeat, #") {
			t.Errorf("a node that said nothing is named: %s", s)
		}
		for _, b := range talk[teller] {
			summary(z, b)
		}
		for _, kind := range []string{"heartbeat", "notice", "attribute-digest"} {
			for _, b := range talk[kind] {
				if s := summary(z, b); !regexp.MustCompile(`^zone [a-z-]+, n[0-4] 7\.1, `).MatchString(s) || regexp.MustCompile(`(of|by|table:) #`).MatchString(s) {
					t.Errorf("after each %s: %s", teller, s)
				}
			}
		}
	}
}

// TestZoneHostile: truncated messages and messages of other protocols are shown as far as they
// are valid, together with the error.
func TestZoneHostile(t *testing.T) {
	talk := zoneTalk(t)
	for kind, list := range talk {
		for n := range list[0] {
			is, err := newZones().read(zonePut, list[0][:n])
			if err == nil {
				t.Errorf("%s: %d of %d bytes are fine: %v", kind, n, len(list[0]), is)
			}
			if is != nil {
				_ = is.Details()
			}
		}
		if is, err := newZones().read(wire.PutCmd{MatchBits: 5, Portal: zonewire.Portal}, list[0]); err != nil || !strings.Contains(is.Summary(), "match bits 0x5") {
			t.Errorf("%s with other match bits: %v, %v", kind, is, err)
		}
	}
	change := func(kind string, at int, to byte) []byte {
		b := append([]byte(nil), talk[kind][0]...)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		err  error
	}{
		{"nothing", nil, zonewire.ErrShort},
		{"no message", make([]byte, 100), zonewire.ErrMagic},
		{"another version", change("base", 4, 9), zonewire.ErrVersion},
		{"unknown kind", change("base", 5, 200), zonewire.ErrKind},
		{"billions of leaves", change("base", zonewire.HeaderSize+3, 0xff), zonewire.ErrInc},
		{"another version between zones", change("register", 4, 9), zonewire.ErrVersion},
		{"unknown kind between zones", change("register", 5, 200), zonewire.ErrKind},
	} {
		if _, err := newZones().read(zonePut, c.data); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}

// FuzzZone: any input can be shown, and the size of the output is bounded by the message.
func FuzzZone(f *testing.F) {
	for _, list := range zoneTalk(f) {
		f.Add(list[0])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		is, err := newZones().read(zonePut, data)
		if is == nil {
			if err == nil {
				t.Error("nothing, without an error")
			}
			return
		}
		text, err := json.Marshal(is)
		size := len(is.Summary()) + len(strings.Join(is.Details(), "\n")) + len(text)
		if err != nil || size > 4096+64*len(data) {
			t.Errorf("%d bytes are shown in %d: %v", len(data), size, err)
		}
	})
}
