package dissection

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals/keyring"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// recorded returns the messages of collectives from the recorded exchange.
func recorded(t testing.TB) (list []capture.Record) {
	known := NewProtocols(nil)
	capturetest.Decode(t, scollFile, func(r *capture.Record) {
		if s := known.Read(r); s.said.Protocol != "" {
			c := *r
			c.Payload = slices.Clone(r.Payload)
			list = append(list, c)
		}
	})
	return list
}

// first returns the first message to a portal in list[after:], and its index in list.
func first(t testing.TB, list []capture.Record, portal uint32, after int) (capture.Record, int) {
	for i := after; i < len(list); i++ {
		if p, ok := list[i].Portal(); ok && p == portal {
			return list[i], i
		}
	}
	t.Fatalf("no message to portal %d", portal)
	return capture.Record{}, 0
}

// oddMessage is a recorded message that was corrupted.
type oddMessage struct {
	name   string
	of     capture.Record
	spoil  func(r *capture.Record)
	is     bool   // true: the message is shown as one of its kind in spite of the corruption
	wanted string // text that the summary or the error must contain
}

// oddMessages corrupts messages of a recorded exchange.
func oddMessages(t *testing.T, list []capture.Record) []oddMessage {
	creation, _ := first(t, list, scollwire.RequestPortal, 0)
	request := list[slices.IndexFunc(list, func(r capture.Record) bool { return strings.HasSuffix(string(r.Payload), "all of you") })]
	trailed := list[slices.IndexFunc(list, func(r capture.Record) bool {
		p, _ := r.Portal()
		return p == scollwire.ReplyPortal && len(r.Payload) == scollwire.ReplyHeaderSize+6+scollwire.TrailerEntrySize
	})]
	progress := list[slices.IndexFunc(list, func(r capture.Record) bool { return len(r.Payload) == scollwire.WordSize })]
	get, _ := first(t, list, scollwire.BulkPortal, 0)
	return slices.Concat(oddRequests(creation, request), oddReplies(trailed), oddProgress(progress), oddHolds(progress), signedMessages(request, trailed, progress), oddFetches(get))
}

func oddRequests(creation, request capture.Record) []oddMessage {
	le := binary.LittleEndian
	return []oddMessage{
		{"nothing", request, func(r *capture.Record) { r.Payload = nil }, false, "shorter than its header"},
		{"no collective", request, func(r *capture.Record) { r.Payload[0] = 0 }, false, "no collective message"},
		{"another version", request, func(r *capture.Record) { le.PutUint16(r.Payload[4:], 9) }, false, "version 9 with a header of 192 bytes, known is 1"},
		{"payload size", request, func(r *capture.Record) { le.PutUint32(r.Payload[184:], 5000) }, true, "a list of 0 and a payload of 5000 bytes, but 17 follow"},
		{"header alone", request, func(r *capture.Record) { r.Payload = r.Payload[:100] }, false, "lengths do not fit"},
		{"no tree", request, func(r *capture.Record) { r.Payload[92] = 77 }, true, "tree of type 77"},
		{"no creator", request, func(r *capture.Record) { r.Payload[40] = 255 }, true, "creator"},
		{"root", request, func(r *capture.Record) { le.PutUint32(r.Payload[104:], 6) }, true, "root 6 of 6 nodes"},
		{"attempt", request, func(r *capture.Record) { le.PutUint64(r.Payload[124:], 99) }, true, "first attempt 99 after 2"},
		{"out of band", request, func(r *capture.Record) { r.Payload[36] |= byte(scollwire.FlagOOB) }, true, "flags oob with group 127.0.0.21@tcp"},
		{"no list", request, func(r *capture.Record) { r.Payload[36] |= byte(scollwire.FlagList) }, true, "flags list, a list of 0 bytes"},
		{"unknown flag", request, func(r *capture.Record) { r.Payload[39] |= 0x80 }, true, "flags 0x80000000"},
		{"nodes", request, func(r *capture.Record) { le.PutUint32(r.Payload[100:], 5) }, true, "odd: the group has 6 nodes, the tree 5"},
		{"not the parent", request, func(r *capture.Record) { r.Header.SrcNID = nid.MustParse("127.0.0.26@tcp") }, true, "odd: the parent of rank"},
		{"to the root", request, func(r *capture.Record) { r.Header.DestNID = nid.MustParse("127.0.0.21@tcp") }, true, "odd: rank 0 is the root"},
		{"a stranger", request, func(r *capture.Record) { r.Header.SrcNID = nid.MustParse("127.0.0.99@tcp") }, true, "127.0.0.99@tcp or"},
		{"another group", request, func(r *capture.Record) { r.Payload[76]++ }, true, "ranks unknown"},
		{"list cut", creation, func(r *capture.Record) { le.PutUint32(r.Payload[scollwire.RequestHeaderSize+nid.ExtendedSize:], 1<<30) }, true, "shorter than its header"},
		{"another list", creation, func(r *capture.Record) { r.Payload[len(r.Payload)-1]++ }, true, "not that of the group"},
		{"segments", request, func(r *capture.Record) { r.Payload[188] = 9 }, true, "segments of 9 bytes for 0 bytes"},
	}
}

func oddReplies(trailed capture.Record) []oddMessage {
	le := binary.LittleEndian
	speaks := func(carried []byte) func(*capture.Record) { // returns a function that makes a reply carry these answers of other members
		return func(r *capture.Record) {
			h, _, _ := scollwire.ParseReplyHeader(r.Payload)
			trailer := r.Payload[len(r.Payload)-scollwire.TrailerEntrySize:]
			h.Status, h.PayloadSize, h.Carried = scoll.ETIMEDOUT, 0, uint32(len(carried))
			r.Payload = slices.Concat(h.AppendTo(nil), carried, trailer)
			r.Header.PayloadLength = uint32(len(r.Payload))
		}
	}
	return []oddMessage{
		{"reply of nobody", trailed, func(r *capture.Record) { r.Payload[36]++ }, true, "a payload of 7 bytes and a trailer of 1 entries, but 14 bytes follow"},
		{"huge trailer", trailed, func(r *capture.Record) { le.PutUint32(r.Payload[40:], 1<<31) }, true, "2147483648 entries"},
		{"no reply", trailed, func(r *capture.Record) { r.Payload = r.Payload[:20] }, false, "shorter"},
		{"reply's version", trailed, func(r *capture.Record) { r.Payload[4]++ }, false, "version 2 with a header of 56"},
		{"reply's flags", trailed, func(r *capture.Record) { r.Payload[24] |= 64 }, false, "flags last,0x40"},
		{"trailer", trailed, func(r *capture.Record) { r.Payload[len(r.Payload)-2] = 9 }, true, "entry 0 of the trailer"},
		{"rank", trailed, func(r *capture.Record) { r.Payload[len(r.Payload)-8] = 200 }, true, "odd: rank 200 of 6 nodes is missing"},
		{"sequence", trailed, func(r *capture.Record) { r.Payload[16]++ }, true, "odd: these match bits were for sequence 4"},
		{"reply of another", trailed, func(r *capture.Record) { r.Header.SrcNID = nid.MustParse("127.0.0.99@tcp") }, true, "odd: the request went to"},
		{"passed on", trailed, speaks(append(scollwire.Carried{Rank: 3, Last: true, Size: 2}.AppendTo(nil), 1, 2)), true, "timed out, 1 passed on, 1 missing"},
		{"passed on for nobody", trailed, speaks(scollwire.Carried{Rank: 9, Last: true}.AppendTo(nil)), true, "odd: an answer of rank 9 of 6 nodes is passed on"},
		{"cut short", trailed, speaks(scollwire.Carried{Rank: 3, Last: true, Size: 2}.AppendTo(nil)), true, "message 0 of the answers that are passed on"},
		{"reply to nothing", trailed, func(r *capture.Record) { r.Header.DestNID = nid.MustParse("127.0.0.99@tcp") }, true, "not in this capture"},
	}
}

func oddProgress(progress capture.Record) []oddMessage {
	le := binary.LittleEndian
	return []oddMessage{
		{"progress", progress, func(*capture.Record) {}, true, "of 5000 bytes"},
		{"too much progress", progress, func(r *capture.Record) { le.PutUint64(r.Payload[16:], 5001) }, true, "odd: 5001 bytes of 5000"},
		{"end of progress", progress, func(r *capture.Record) { r.Payload[24] = 110 }, true, "no more come: timed out"},
		{"progress of another version", progress, func(r *capture.Record) { r.Payload[4]++ }, false, "another protocol version"},
		{"status of progress", progress, func(r *capture.Record) { r.Payload[27]++ }, false, "progress of 32 bytes"},
		{"progress to another", progress, func(r *capture.Record) { r.Header.DestNID = nid.MustParse("127.0.0.99@tcp") }, true, "odd: the request went to"},
		{"progress of nothing", progress, func(r *capture.Record) { r.Payload[8]++ }, true, "not in this capture"},
	}
}

// oddHolds turns a message about progress into messages about holding of the same request,
// some of which are invalid.
func oddHolds(progress capture.Record) []oddMessage {
	word := func(held bool, change func(*capture.Record)) func(*capture.Record) {
		return func(r *capture.Record) {
			w := scollwire.Hold{ReplyBits: binary.LittleEndian.Uint64(r.Payload[8:]), Held: held}
			r.Payload = w.AppendTo(nil)
			r.Header.PayloadLength = scollwire.WordSize
			r.Header.SrcNID, r.Header.DestNID = r.Header.DestNID, r.Header.SrcNID
			change(r)
		}
	}
	same := func(*capture.Record) {}
	return []oddMessage{
		{"hold", progress, word(true, same), true, "odd: the request did not ask for it"},
		{"hold no more", progress, word(false, same), true, "holding no more broadcast"},
		{"hold of nothing", progress, word(true, func(r *capture.Record) { r.Payload[9]++ }), true, "not in this capture"},
		{"hold of another version", progress, word(true, func(r *capture.Record) { r.Payload[4]++ }), false, "another protocol version"},
		{"neither held nor not", progress, word(true, func(r *capture.Record) { r.Payload[24] = 2 }), false, "word of holding of 32 bytes"},
		{"hold from another", progress, word(true, func(r *capture.Record) { r.Header.SrcNID = nid.MustParse("127.0.0.99@tcp") }), true, "odd: the request went to"},
	}
}

// signedMessages are messages with the flag "signed", with and without an authentication code at their
// end, and messages about an incarnation.
func signedMessages(request, trailed, progress capture.Record) []oddMessage {
	sign := func(at int, flag byte) func(r *capture.Record) {
		return func(r *capture.Record) {
			r.Payload[at] |= flag
			r.Payload = append(r.Payload, make([]byte, keyring.CodeSize)...)
			r.Header.PayloadLength += keyring.CodeSize
		}
	}
	identity := func(i scollwire.Identity) func(r *capture.Record) {
		return func(r *capture.Record) { r.Payload = i.AppendTo(nil) }
	}
	return []oddMessage{
		{"signed", request, sign(36, byte(scollwire.FlagSigned)), true, "all of you"},
		{"signed without a code", request, func(r *capture.Record) { r.Payload[36] |= byte(scollwire.FlagSigned) }, true, "but 17 follow"},
		{"a signed reply", trailed, sign(24, byte(scollwire.ReplySigned)), true, "1 missing"},
		{"a signed reply without a code", trailed, func(r *capture.Record) { r.Payload[24] |= byte(scollwire.ReplySigned) }, true, "but 14 bytes follow"},
		{"signed progress", progress, sign(28, 1), true, "of 5000 bytes, signed"},
		{"a question", request, identity(scollwire.Identity{Nonce: 5, Kind: scollwire.Ask}), true, "asks for the incarnation"},
		{"an answer", request, identity(scollwire.Identity{Nonce: 5, Incarnation: 0x77, Kind: scollwire.Tell}), true, "has the incarnation 0x77"},
		{"neither", request, identity(scollwire.Identity{Nonce: 5}), false, "contradictory header"},
	}
}

func oddFetches(get capture.Record) []oddMessage {
	return []oddMessage{
		{"too much", get, func(r *capture.Record) {
			c := r.Header.Get()
			c.SrcOffset = 1
			r.Header.SetGet(c)
		}, true, "odd: it ends at byte 3001 of 3000"},
		{"another's data", get, func(r *capture.Record) { r.Header.SrcNID = nid.MustParse("127.0.0.99@tcp") }, true, "odd: the request went to"},
		{"data of nobody", get, func(r *capture.Record) { r.Header.DestNID = nid.MustParse("127.0.0.99@tcp") }, true, "not in this capture"},
	}
}

// TestScollOdd: violations of the protocol are reported with the offending numbers, and
// fields that are not valid are not shown.
func TestScollOdd(t *testing.T) {
	list := recorded(t)
	for _, c := range oddMessages(t, list) {
		known := NewProtocols(nil)
		for i := range list { // only the messages before the corrupted one are read first, as in a capture: later ones would reveal the ranks
			if list[i].Frame < c.of.Frame {
				known.Read(&list[i])
			}
		}
		r := c.of
		r.Payload = slices.Clone(r.Payload)
		c.spoil(&r)
		r.Header.PayloadLength = uint32(len(r.Payload))
		said := known.Read(&r).said
		text := ""
		if said.Is != nil {
			text = said.Is.Summary()
		}
		if (said.Is != nil) != c.is || !strings.Contains(fmt.Sprint(text, said.Err), c.wanted) {
			t.Errorf("%s: %q, %v; want %q", c.name, text, said.Err, c.wanted)
		}
	}
}

// TestScollCut: of truncated messages the header is shown.
func TestScollCut(t *testing.T) {
	known, replies := NewProtocols(nil), 0
	for _, r := range recorded(t) {
		if len(r.Payload) > 0 && r.Header.Type == wire.Put {
			r.Payload, r.Missing = r.Payload[:len(r.Payload)-1], 1
			said := known.Read(&r).said
			if said.Err != capture.ErrPartOfPayload && len(r.Payload) >= scollwire.RequestHeaderSize || said.Err == nil {
				t.Errorf("%+v", said)
			}
			if _, ok := said.Is.(*collectiveReply); ok && said.Err == capture.ErrPartOfPayload {
				replies++
			}
		}
	}
	if replies == 0 {
		t.Error("no header of a reply was shown")
	}
}

// TestScollMidway: if a capture begins after the creation of a group, everything is shown except
// the ranks.
func TestScollMidway(t *testing.T) {
	known, seen := NewProtocols(nil), 0
	for _, r := range recorded(t) {
		if q, ok := known.Read(&r).said.Is.(*collectiveRequest); ok && q.kind() == "create" {
			known = NewProtocols(nil)
			continue
		} else if !ok || q.Group.Index != 1 || q.ListSize > 0 {
			continue
		} else if seen++; q.hop.known() || len(q.remarks) > 0 || !strings.Contains(q.Summary(), "ranks unknown") {
			t.Errorf("%s", q.Summary())
		}
	}
	if seen < 20 {
		t.Errorf("%d requests", seen)
	}
}

// TestScollListsAreBounded: requests that are remembered keep no more lists of members alive than the bound allows.
func TestScollListsAreBounded(t *testing.T) {
	const lists, members = 3000, 90
	creation, _ := first(t, recorded(t), scollwire.RequestPortal, 0)
	h, _, err := scollwire.ParseRequestHeader(creation.Payload)
	if err != nil || h.ListSize == 0 {
		t.Fatal(h, err)
	}
	known := newCollectives(nil)
	before := heap()
	for i := range uint32(lists) {
		targets := make([]scoll.Target, members)
		for k := range targets {
			targets[k] = scoll.Target{NID: nid.FromNumber(creation.Header.SrcNID.Net(), i<<16+uint32(k)), Entities: make([]scollwire.Entity, 1)}
		}
		list, err := scoll.NewMembership(targets)
		if err != nil {
			t.Fatal(err)
		}
		h.ReplyBits, h.Nodes, h.Group.Digest, h.ListSize, h.PayloadSize = uint64(i), members, list.Digest(), uint32(list.Size()), 0
		r := creation
		r.Payload = list.AppendTo(h.AppendTo(nil))
		r.Header.PayloadLength = uint32(len(r.Payload))
		if s, ok := known.read(&r); !ok || s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	const list, request = 200 * members, 1 << 10 // more than the memory that one of them takes
	if grown := heap() - before; grown > rememberedLists*list+lists*request {
		t.Errorf("%d KiB are alive", grown>>10)
	}
	runtime.KeepAlive(known)
}

// heap returns how many bytes on the heap are in use after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestScollMembers: with a list of members, the ranks are shown, provided that the list has as many
// members as the tree has nodes.
func TestScollMembers(t *testing.T) {
	list := recorded(t)
	for nids, want := range map[string]bool{"127.0.0.[21-26]@tcp": true, "127.0.0.[21-25]@tcp": false} {
		members, err := ParseMembers(nids)
		if err != nil {
			t.Fatal(err)
		}
		known, seen := NewProtocols(members), 0
		for _, r := range list {
			if q, ok := known.Read(&r).said.Is.(*collectiveRequest); ok && q.ListSize == 0 {
				if known = NewProtocols(members); q.hop.known() != want || len(q.remarks) > 0 {
					t.Errorf("%s: %s", nids, q.Summary())
				}
				seen++
			} else {
				known = NewProtocols(members)
			}
		}
		if seen < 20 {
			t.Errorf("%d requests", seen)
		}
	}
	for _, nids := range []string{"127.0.0.[21-", "nonsense", "127.0.0.1@tcp 127.0.0.1@tcp"} {
		if _, err := ParseMembers(nids); err == nil {
			t.Errorf("%q is taken", nids)
		}
	}
}

// TestBounded: if a table is full its oldest entries are removed.
func TestBounded(t *testing.T) {
	b := newBounded[int, int](3)
	for i := range 10 {
		b.put(i, i)
		b.put(i, 10*i)
	}
	for i := range 10 {
		if v, ok := b.get(i); ok != (i >= 7) || ok && v != 10*i {
			t.Errorf("%d: %d, %v", i, v, ok)
		}
	}
}

// FuzzScoll: any input can be shown after any earlier messages, and the size of the output is
// bounded by the message.
func FuzzScoll(f *testing.F) {
	list := recorded(f)
	for i, r := range list {
		f.Add(uint16(i), string(r.Payload))
	}
	f.Fuzz(func(t *testing.T, which uint16, data string) {
		at := int(which) % len(list)
		known := NewProtocols(nil)
		for i := range list[:at] {
			known.Read(&list[i])
		}
		r := list[at]
		r.Payload, r.Header.PayloadLength = []byte(data), uint32(len(data))
		for range 2 {
			said := known.Read(&r).said
			if said.Is == nil {
				if said.Err == nil {
					t.Error("nothing, without an error")
				}
				return
			}
			text, err := json.Marshal(said.Is)
			size := len(said.Is.Summary()) + len(strings.Join(said.Is.Details(), "\n")) + len(text)
			if err != nil || size > 6000+40*len(data) {
				t.Errorf("%d bytes become %d: %v", len(data), size, err)
			}
		}
	})
}
