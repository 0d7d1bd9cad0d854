package portals_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

const inf = portals.ThresholdInfinite

// empty is the size of an entry whose MD has no bytes, because size 0 stands for 1 MiB.
const empty = -1

// entry is an ME with its MD. Its zero value takes any number of PUTs and GETs of every node with match bits 0, each
// at the local offset.
type entry struct {
	id            nid.ProcessID
	bits, ignore  uint64
	before, local bool             // insert position Before or Local; neither: After
	options       portals.MDOption // options of the MD; 0: OpPut and OpGet
	size          int              // size of the MD in bytes; 0: 1 MiB
	threshold     int              // threshold of the MD; 0: infinite
	max           int              // MaxSize of the MD in bytes; 0: no HasMaxSize
	retain        bool             // whether the MD has the unlink option Retain
	bare          bool             // whether the entry has no MD
}

// message is a PUT or GET that comes over loopback.
type message struct {
	get    bool
	bits   uint64
	length int
	offset uint32
}

func put(bits uint64, length int) message { return message{bits: bits, length: length} }
func get(bits uint64, length int) message { return message{bits: bits, length: length, get: true} }

func (m message) at(offset uint32) message { m.offset = offset; return m }

// matchCase is a list of entries, messages that arrive one after the other, and the results.
type matchCase struct {
	entries  []entry
	messages []message
	want     []string // events as attachEntries writes them, or a drop reason
}

const (
	noMatch = "no match"
	tooLong = "too long"
)

func runMatchCases(t *testing.T, cases map[string]matchCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var seen []string
			h.attachEntries(c.entries, &seen)
			for _, m := range c.messages {
				before, drops := len(seen), h.drops()
				h.sendMessage(m)
				for why, n := range h.drops() {
					if n > drops[why] {
						seen = append(seen, why)
					}
				}
				if len(seen) != before+1 {
					t.Fatalf("a message did %q", seen[before:])
				}
			}
			if diff := cmp.Diff(c.want, seen); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// attachEntries makes entries on portal 5; their events go to seen as
// "index: KIND offset+mlength", with "!" if the MD is unlinked.
func (h *harness) attachEntries(entries []entry, seen *[]string) {
	h.t.Helper()
	for i, e := range entries {
		pos := portals.After
		if e.before {
			pos = portals.Before
		} else if e.local {
			pos = portals.Local
		}
		me, err := h.MEAttach(5, portals.Match{ID: e.id, Bits: e.bits, Ignore: e.ignore}, portals.Unlink, pos)
		if err != nil {
			h.t.Fatal(err)
		}
		if e.bare {
			continue
		}
		md := portals.MD{Threshold: e.threshold, Options: e.options, MaxSize: e.max}
		switch e.size {
		case 0:
			e.size = 1 << 20
		case empty:
			e.size = 0
		}
		md.Segments = []lnd.Segment{make([]byte, e.size/2), make([]byte, e.size-e.size/2)}
		if md.Threshold == 0 {
			md.Threshold = inf
		}
		if md.Options&(portals.OpPut|portals.OpGet) == 0 {
			md.Options |= portals.OpPut | portals.OpGet
		}
		if e.max > 0 {
			md.Options |= portals.HasMaxSize
		}
		md.Handler = func(e *portals.Event) {
			s := fmt.Sprintf("%d: %v %d+%d", i, e.Kind, e.Offset, e.MLength)
			if e.Unlinked {
				s += "!"
			}
			*seen = append(*seen, s)
		}
		unlink := portals.Unlink
		if e.retain {
			unlink = portals.Retain
		}
		if _, err := h.MDAttach(me, md, unlink); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *harness) sendMessage(m message) {
	h.t.Helper()
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, m.length)}, Threshold: 2})
	var err error
	if m.get {
		err = h.Get(portals.GetRequest{MD: md, Target: h.self, Portal: 5, MatchBits: m.bits, Offset: m.offset})
	} else {
		err = h.Put(portals.PutRequest{MD: md, Target: h.self, Portal: 5, MatchBits: m.bits, Offset: m.offset})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestMatching (PT-3, PT-4) checks the rules by which a message finds its MD (LNet lib-ptl.c
// lnet_mt_match_md, lnet_try_match_md).
func TestMatching(t *testing.T) {
	spec.Covers(t, "PT-3", "PT-4")
	me := nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}
	other := nid.MustParse("10.0.0.9@tcp")
	runMatchCases(t, map[string]matchCase{
		"empty portal": {nil, []message{put(0, 1), get(0, 1)}, []string{noMatch, noMatch}},
		"match bits": {
			[]entry{{bits: 1}, {bits: 1 << 63}},
			[]message{put(1<<63, 1), put(1, 1), put(2, 1)},
			[]string{"1: PUT 0+1", "0: PUT 0+1", noMatch},
		},
		"equal low bits do not match": {[]entry{{bits: 0x101}}, []message{put(0x001, 1), put(0x201, 1)}, []string{noMatch, noMatch}},
		"ignore bits": {
			[]entry{{bits: 0xA0, ignore: 0x0F}},
			[]message{put(0xAF, 1), put(0xA0, 1), put(0xB0, 1)},
			[]string{"0: PUT 0+1", "0: PUT 1+1", noMatch},
		},
		"ignored bits of the entry do not count": {[]entry{{bits: 0xAF, ignore: 0x0F}}, []message{put(0xA0, 1)}, []string{"0: PUT 0+1"}},
		"ignore bits before exact":               {[]entry{{bits: 1}, {ignore: ^uint64(0)}}, []message{put(1, 1)}, []string{"1: PUT 0+1"}},
		"ignore bits too long, exact not tried":  {[]entry{{bits: 1}, {ignore: ^uint64(0), size: 2}}, []message{put(1, 3)}, []string{tooLong}},
		"ignore bits exhausted, exact tried": {
			[]entry{{bits: 1}, {ignore: ^uint64(0), threshold: 1}},
			[]message{put(1, 1), put(1, 1)},
			[]string{"1: PUT 0+1!", "0: PUT 0+1"},
		},
		"after":               {[]entry{{}, {}}, []message{put(0, 1)}, []string{"0: PUT 0+1"}},
		"before":              {[]entry{{before: true}, {before: true}}, []message{put(0, 1)}, []string{"1: PUT 0+1"}},
		"local is after":      {[]entry{{local: true}, {local: true}}, []message{put(0, 1)}, []string{"0: PUT 0+1"}},
		"before among ignore": {[]entry{{ignore: 1, before: true}, {ignore: 2, before: true}}, []message{put(0, 1)}, []string{"1: PUT 0+1"}},
		"after among ignore":  {[]entry{{ignore: 1}, {ignore: 2}}, []message{put(0, 1)}, []string{"0: PUT 0+1"}},
		"order B, A, B, A": {
			[]entry{
				{threshold: 1, before: true},
				{threshold: 1},
				{threshold: 1, before: true},
				{threshold: 1},
			},
			[]message{put(0, 1), put(0, 1), put(0, 1), put(0, 1), put(0, 1)},
			[]string{"2: PUT 0+1!", "0: PUT 0+1!", "1: PUT 0+1!", "3: PUT 0+1!", noMatch},
		},
		"other NID":       {[]entry{{id: nid.ProcessID{NID: other}}, {}}, []message{put(0, 1)}, []string{"1: PUT 0+1"}},
		"other pid":       {[]entry{{id: nid.ProcessID{NID: nid.Any(), PID: 1}}, {}}, []message{put(0, 1)}, []string{"1: PUT 0+1"}},
		"own NID":         {[]entry{{id: nid.ProcessID{NID: me.NID, PID: nid.PIDAny}}}, []message{put(0, 1)}, []string{"0: PUT 0+1"}},
		"own pid":         {[]entry{{id: nid.ProcessID{PID: me.PID}}}, []message{put(0, 1)}, []string{"0: PUT 0+1"}},
		"unique":          {[]entry{{id: me, bits: 7}, {id: me, bits: 8}}, []message{put(8, 1), put(9, 1)}, []string{"1: PUT 0+1", noMatch}},
		"unique of other": {[]entry{{id: nid.ProcessID{NID: other, PID: me.PID}, bits: 7}}, []message{put(7, 1)}, []string{noMatch}},
		"unique twice": {
			[]entry{{id: me, threshold: 1}, {id: me, before: true, threshold: 1}},
			[]message{put(0, 1), put(0, 1), put(0, 1)},
			[]string{"1: PUT 0+1!", "0: PUT 0+1!", noMatch},
		},
		"no MD": {[]entry{{bare: true}, {}}, []message{put(0, 1)}, []string{"1: PUT 0+1"}},
		"operation": {
			[]entry{{options: portals.OpGet}, {options: portals.OpPut}},
			[]message{put(0, 1), get(0, 1)},
			[]string{"1: PUT 0+1", "0: GET 0+1"},
		},
		"threshold":                {[]entry{{threshold: 2}}, []message{put(0, 1), get(0, 1), put(0, 1)}, []string{"0: PUT 0+1", "0: GET 1+1!", noMatch}},
		"threshold, retained":      {[]entry{{threshold: 1, retain: true}}, []message{put(0, 1), put(0, 1)}, []string{"0: PUT 0+1", noMatch}},
		"dropped takes none":       {[]entry{{threshold: 1, size: 4}}, []message{put(0, 5), put(0, 4)}, []string{tooLong, "0: PUT 0+4!"}},
		"too long ends the search": {[]entry{{size: 4}, {}}, []message{put(0, 5)}, []string{tooLong}},
	})
}

// TestPlacement (PT-6, PT-7): the test checks at which offset a message is placed in its MD,
// how many of its bytes are placed, and how much room is left for the next message
// (lnet_try_match_md).
func TestPlacement(t *testing.T) {
	spec.Covers(t, "PT-6", "PT-7")
	const (
		remote   = portals.ManageRemote
		truncate = portals.Truncate
	)
	runMatchCases(t, map[string]matchCase{
		"truncate":                  {[]entry{{size: 4, options: truncate}}, []message{put(0, 5), put(0, 1)}, []string{"0: PUT 0+4", "0: PUT 4+0"}},
		"local offset, shared":      {[]entry{{size: 10}}, []message{put(0, 3), get(0, 4), put(0, 3), put(0, 1)}, []string{"0: PUT 0+3", "0: GET 3+4", "0: PUT 7+3", tooLong}},
		"local ignores the offset":  {[]entry{{size: 10}}, []message{put(0, 3).at(5)}, []string{"0: PUT 0+3"}},
		"empty into full":           {[]entry{{size: 2}}, []message{put(0, 2), put(0, 0)}, []string{"0: PUT 0+2", "0: PUT 2+0"}},
		"remote offset":             {[]entry{{size: 10, options: remote}}, []message{put(0, 3).at(7), put(0, 10), get(0, 1).at(9)}, []string{"0: PUT 7+3", "0: PUT 0+10", "0: GET 9+1"}},
		"remote offset, too long":   {[]entry{{size: 10, options: remote}}, []message{put(0, 4).at(7), get(0, 1).at(10), put(0, 1).at(1<<32 - 1)}, []string{tooLong, tooLong, tooLong}},
		"remote offset, truncate":   {[]entry{{size: 10, options: remote | truncate}}, []message{put(0, 4).at(7), get(0, 4).at(11), put(0, 1).at(1<<32 - 1)}, []string{"0: PUT 7+3", "0: GET 10+0", "0: PUT 10+0"}},
		"remote, empty beyond":      {[]entry{{size: 10, options: remote}}, []message{put(0, 0).at(1 << 31)}, []string{"0: PUT 10+0"}},
		"max size limits":           {[]entry{{size: 100, max: 40}}, []message{put(0, 41), get(0, 41), put(0, 40)}, []string{tooLong, tooLong, "0: PUT 0+40"}},
		"max size truncates":        {[]entry{{size: 100, max: 40, options: truncate}}, []message{put(0, 41)}, []string{"0: PUT 0+40"}},
		"max size fills and ends":   {[]entry{{size: 100, max: 40}, {}}, []message{put(0, 40), put(0, 20), put(0, 1), put(0, 1)}, []string{"0: PUT 0+40", "0: PUT 40+20", "0: PUT 60+1!", "1: PUT 0+1"}},
		"max size, exactly full":    {[]entry{{size: 80, max: 40}}, []message{put(0, 40), put(0, 40), put(0, 0)}, []string{"0: PUT 0+40", "0: PUT 40+40!", noMatch}},
		"max size, retained":        {[]entry{{size: 50, max: 40, retain: true}}, []message{put(0, 20), put(0, 1)}, []string{"0: PUT 0+20", noMatch}},
		"max size, remote":          {[]entry{{size: 100, max: 40, options: remote}}, []message{put(0, 10).at(95), put(0, 5).at(95), put(0, 1)}, []string{tooLong, "0: PUT 95+5!", noMatch}},
		"GET longer than the MD":    {[]entry{{size: 4}}, []message{get(0, 5)}, []string{tooLong}},
		"GET longer, truncate":      {[]entry{{size: 4, options: truncate}}, []message{get(0, 5)}, []string{"0: GET 0+4"}},
		"1 MiB":                     {[]entry{{}}, []message{put(0, wire.MaxPayload)}, []string{"0: PUT 0+1048576"}},
		"zero length MD takes none": {[]entry{{size: empty}}, []message{put(0, 0), put(0, 1)}, []string{"0: PUT 0+0", tooLong}},
	})
}

// TestMEInsert: a new entry is tried just before or after the one beside which it was
// inserted (LNetMEInsert).
func TestMEInsert(t *testing.T) {
	for name, c := range map[string]struct {
		match portals.Match // Match of all entries
		calls []string      // "before 0": before entry 0; entries are numbered as they are made
		want  []int         // numbers of the entries, in the order of trying
	}{
		"before the first":    {portals.Match{}, []string{"before 0"}, []int{1, 0}},
		"after the last":      {portals.Match{}, []string{"after 0"}, []int{0, 1}},
		"between, from above": {portals.Match{}, []string{"after 0", "after 0"}, []int{0, 2, 1}},
		"between, from below": {portals.Match{}, []string{"after 0", "before 1"}, []int{0, 2, 1}},
		"always first":        {portals.Match{}, []string{"before 0", "before 1", "before 2"}, []int{3, 2, 1, 0}},
		"with ignore bits":    {portals.Match{Ignore: 1}, []string{"before 0", "after 1", "before 0"}, []int{1, 2, 3, 0}},
		"other match bits":    {portals.Match{Bits: 9}, []string{"after 0", "before 1"}, []int{0, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var got []int
			attach := func(me portals.MEHandle, i int) {
				_, err := h.MDAttach(me, portals.MD{
					Threshold: 1, Options: portals.OpPut, Handler: func(*portals.Event) { got = append(got, i) },
				}, portals.Unlink)
				if err != nil {
					t.Fatal(err)
				}
			}
			first, err := h.MEAttach(5, c.match, portals.Unlink, portals.After)
			if err != nil {
				t.Fatal(err)
			}
			mes := []portals.MEHandle{first}
			for _, call := range c.calls {
				pos := portals.After
				if strings.HasPrefix(call, "before") {
					pos = portals.Before
				}
				beside := mes[call[len(call)-1]-'0']
				me, err := h.MEInsert(beside, c.match, portals.Unlink, pos)
				if err != nil {
					t.Fatal(err)
				}
				mes = append(mes, me)
			}
			for i, me := range mes {
				attach(me, i)
			}
			for range mes {
				h.sendMessage(message{bits: c.match.Bits})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}
