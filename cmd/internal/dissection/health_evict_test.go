package dissection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ulnet/health/collective"
	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// TestEvictions: broadcasts that evict clients, and their answers, are shown as text of bounded length.
func TestEvictions(t *testing.T) {
	request := healthwire.Batch{Incarnation: 9}
	for i := range healthwire.MaxBatch {
		request.Entries = healthwire.Entry{Client: healthwire.ClientIDOf(fmt.Sprint(i)), Incarnation: 5, Mark: uint8(i % 9)}.AppendTo(request.Entries)
	}
	b, err := readBatch(request.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("health evicts 138: %v incarnation 5 timed-out %v incarnation 5 rebooted %v incarnation 5 by-admin …",
		healthwire.ClientIDOf("0"), healthwire.ClientIDOf("1"), healthwire.ClientIDOf("2"))
	if b.summary() != want {
		t.Errorf("%s\nwant %s", b.summary(), want)
	}
	if lines := b.details(); len(lines) != maxListed+2 || !strings.HasSuffix(lines[8], "?7?") || lines[maxListed+1] != "evict 74 more" {
		t.Errorf("%q", lines)
	}
	reply := healthwire.Reply{Evicted: 3, Unknown: 1, Exceptions: []healthwire.Exception{
		{Index: 1, Code: healthwire.OtherMaster, Epoch: 4, Master: nid.MustParse("10.0.0.2@tcp")}, {Index: 5, Code: healthwire.Newer, Incarnation: 6},
	}}
	r := evictionReply{collective.Answer{Reply: reply, Absent: []nid.NID{nid.MustParse("10.0.0.9@tcp")}}}
	if got, want := r.summary(), "health evicted 3, not connected 1, 1 without an answer, not 1: other-master 10.0.0.2@tcp by epoch 4, not 5: newer incarnation 6"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	text, err := json.Marshal(r.entry())
	const object = `{"evicted":3,"not_connected":1,"exceptions":[` +
		`{"index":1,"code":"other-master","epoch":4,"incarnation":"0","master":"10.0.0.2@tcp"},{"index":5,"code":"newer","epoch":0,"incarnation":"6"}],"absent":["10.0.0.9@tcp"]}`
	if err != nil || string(text) != object {
		t.Errorf("%s, %v", text, err)
	}
}

// TestEvictionEpochs: CH-A2: for an eviction, the dump shows the epoch of the choice of a master
// to which the eviction belongs. It shows a withdrawn eviction as withdrawn.
func TestEvictionEpochs(t *testing.T) {
	spec.Covers(t, "CH-A2")
	request := healthwire.Batch{Incarnation: 9, Withdraw: true}
	id := healthwire.ClientIDOf("a")
	request.Entries = healthwire.Entry{Client: id, Incarnation: 5, Epoch: 7}.AppendTo(nil)
	b, err := readBatch(request.AppendTo(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.summary(), fmt.Sprintf("health withdraws evictions of 1: %v incarnation 5 timed-out epoch 7", id); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := b.details()[1], fmt.Sprintf("withdraw 0: client %v, incarnation 5, timed-out, epoch 7", id); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	text, err := json.Marshal(b.entry())
	if want := fmt.Sprintf(`{"server_life":"9","withdraw":true,"entries":[{"client":"%v","incarnation":"5","mark":"timed-out","epoch":7}]}`, id); err != nil || string(text) != want {
		t.Errorf("%s, %v\nwant %s", text, err, want)
	}
}

// TestLoadsAndSuggestions: digests show the load of their sender, and a notice of draining shows
// the server that it suggests, which need not be the master.
func TestLoadsAndSuggestions(t *testing.T) {
	other := nid.MustParse("10.0.0.2@tcp")
	for _, test := range []struct {
		m          healthwire.Message
		text, json string
	}{
		{healthwire.Message{Kind: healthwire.Digest, Code: healthwire.Draining, Epoch: 12}, "health digest, clients: 0, load 12, draining", `"load":12`},
		{
			healthwire.Message{Kind: healthwire.Notice, Code: healthwire.Draining, Client: healthwire.ClientIDOf("a"), Incarnation: 5, Epoch: 3, Server: other},
			"health notice draining, client " + healthwire.ClientIDOf("a").String() + " incarnation 5, epoch 3, ask 10.0.0.2@tcp", `"ask":"10.0.0.2@tcp"`,
		},
		{
			healthwire.Message{Kind: healthwire.Ask, Code: healthwire.Stale, Client: healthwire.ClientIDOf("a"), Incarnation: 5, Epoch: 3, Server: other},
			"health ask stale, client " + healthwire.ClientIDOf("a").String() + " incarnation 5, epoch 3, is it there? a later incarnation connects at 10.0.0.2@tcp", `"later_life_at":"10.0.0.2@tcp"`,
		},
	} {
		m := &healthMessage{Message: test.m}
		text, err := json.Marshal(m)
		if m.Summary() != test.text || err != nil || !strings.Contains(string(text), test.json) || strings.Contains(string(text), `"master"`) {
			t.Errorf("%s\n%s, %v\nwant %s\n%s", m.Summary(), text, err, test.text, test.json)
		}
	}
}

// TestEvictionsHostile: a payload that is not a batch, or not an answer to one, is shown as
// bytes.
func TestEvictionsHostile(t *testing.T) {
	var list []capture.Record
	capturetest.Decode(t, healthFile, func(r *capture.Record) {
		if p, _ := r.Portal(); p == wire.RequestPortal || p == wire.ReplyPortal {
			c := *r
			c.Payload = slices.Clone(r.Payload)
			list = append(list, c)
		}
	})
	read := func(portal uint32, at int) (lines string) {
		known := NewProtocols(nil)
		for _, r := range list {
			if p, _ := r.Portal(); p == portal {
				r.Payload = slices.Clone(r.Payload)
				r.Payload[at] ^= 0xff
			}
			if is := known.Read(&r).said.Is; is != nil {
				lines += is.Summary() + "\n"
			}
		}
		return lines
	}
	if got := read(0, 0); strings.Count(got, "health evicts 1: ") != 2 || strings.Count(got, "health evicted 1, ") != 2 {
		t.Errorf("%s", got)
	}
	if got := read(wire.RequestPortal, wire.RequestHeaderSize); strings.Contains(got, "health evicts") || !strings.Contains(got, "44 bytes b7 45 56 42") {
		t.Errorf("%s", got)
	}
	for _, at := range []int{0, 4, 10} { // offsets of three fields of an answer: how many servers are missing, magic, how many exceptions follow
		if got := read(wire.ReplyPortal, wire.ReplyHeaderSize+at); strings.Contains(got, "health evicted") || !strings.Contains(got, "24 bytes") {
			t.Errorf("%d: %s", at, got)
		}
	}
}

// FuzzEvictions: any input can be shown, and the size of the output is bounded by the
// message.
func FuzzEvictions(f *testing.F) {
	batch := healthwire.Batch{Entries: healthwire.Entry{Client: healthwire.ClientIDOf("a"), Incarnation: 5}.AppendTo(nil)}
	f.Add(string(batch.AppendTo(nil)))
	answer := collective.Answer{Absent: []nid.NID{nid.MustParse("10.0.0.9@tcp")}}
	answer.Reply.Exceptions = []healthwire.Exception{{Index: 0, Code: healthwire.Newer, Incarnation: 6}}
	f.Add(string(answer.AppendTo(nil)))
	f.Fuzz(func(t *testing.T, data string) {
		size, object := 0, any(nil)
		if b, err := readBatch([]byte(data)); err == nil {
			size, object = len(b.summary())+len(strings.Join(b.details(), "\n")), b.entry()
		} else if a, err := collective.ParseAnswer([]byte(data), healthwire.MaxBatch, 1<<16); err == nil {
			r := evictionReply{a}
			size, object = len(r.summary())+len(strings.Join(r.details(), "\n")), r.entry()
		}
		text, err := json.Marshal(object)
		if size += len(text); err != nil || size > 2000+40*len(data) {
			t.Errorf("%d bytes become %d: %v", len(data), size, err)
		}
	})
}
