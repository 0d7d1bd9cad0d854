package capture_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/effort"
)

// shown is what a dissector reports of a capture.
type shown struct {
	numbers [2][]uint64 // by side: the numbers of its messages, in the order in which they were reported
	missing map[uint64]uint32
	lost    [2]uint64
	opened  int
}

// TestModel: whatever a capture lacks, has twice or in another order, and whatever strangers add to it, each message
// whose headers were captured is shown once and in order. Missing bytes count as lost if the capture has later
// bytes of the same side; no other bytes do.
func TestModel(t *testing.T) {
	failed := 0
	for seed := range uint64(effort.Of(100, 500, 12_000)) {
		if err := checkModel(seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			if failed++; failed == 10 {
				t.FailNow()
			}
		}
	}
}

func checkModel(seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	var list []caught
	var models []*model
	var parts [][]caught
	first, now := uint64(0), time.Duration(0)
	for range 1 + rng.IntN(2) {
		m := newModel(rng, now, first)
		m.end()
		m.inside = first == 0 && m.IntN(4) == 0 // later connections must begin with a SYN, otherwise nothing would tell them from the first one
		first, now = first+100, m.now+time.Duration(rng.IntN(3000))*time.Millisecond
		models = append(models, m)
		parts = append(parts, m.spoil())
		list = append(list, parts[len(parts)-1]...)
	}
	got, counts, err := shownIn(list)
	if err != nil {
		return err
	}
	want, strays, late := shown{missing: map[uint64]uint32{}}, 0, 0
	for i, m := range models {
		m.expect(parts[i], &want)
		s, l := strangers(parts[i])
		strays, late = strays+s, late+l
	}
	want.opened = len(models)
	if n := got.opened - want.opened; n > 0 && n <= late {
		want.opened = got.opened
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
		return fmt.Errorf("\n got %v\nwant %v\n%+v, %d strays", b, a, counts, strays)
	}
	if counts.Outside > 0 && strays == 0 || counts.Broken+counts.Evicted > 0 {
		return fmt.Errorf("%d strays, %+v", strays, counts)
	}
	return nil
}

// shownIn returns what a dissector reports of a capture, or an error if it keeps too much memory for waiting segments.
func shownIn(list []caught) (got shown, c capture.Counts, err error) {
	got.missing = map[uint64]uint32{}
	d := capture.NewDissector(capture.Options{KeepPayload: -1}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Message:
			number := uint64(r.Header.Put().MatchBits)
			got.numbers[r.From] = append(got.numbers[r.From], number)
			got.missing[number] = r.Missing
		case capture.Lost:
			got.lost[r.From] += r.Length
		case capture.Opened:
			got.opened++
		}
	})
	for _, p := range list {
		frame := p.frame()
		d.Packet(time.Unix(1000, 0).Add(p.at), capture.LinkEthernet, frame[:len(frame)-p.cut])
		if segments, pages, size := d.Waiting(); segments > pages || pages >= 2*capture.MaxWaitingPerSide || size > pages*pageSize {
			return got, d.Counts(), fmt.Errorf("%d segments with %d bytes wait, counted as %d pages", segments, size, pages)
		}
	}
	d.Close()
	return got, d.Counts(), nil
}

// expect adds to want what a dissector has to report of the packets in list, a capture of m.
func (m *model) expect(list []caught, want *shown) {
	var there [2][]bool
	var top, base [2]int
	if m.inside {
		base = [2]int{-1, -1}
	}
	for side := range there {
		there[side] = make([]bool, len(m.stream[side]))
	}
	for _, p := range list {
		side := p.side()
		if p.stray || p.flags&synFlag != 0 {
			continue
		}
		at := int(p.seq - m.isn[side])
		if base[side] < 0 && m.reach(p) > 0 {
			base[side] = at
		}
		top[side] = max(top[side], m.reach(p))
		for i := range len(p.data) - p.cut {
			there[side][at+i] = true
		}
	}
	for side := range there {
		if base[side] < 0 {
			continue
		}
		for _, ok := range there[side][base[side]:top[side]] {
			if !ok {
				want.lost[side]++
			}
		}
	}
	for _, x := range m.told {
		if base[x.from] >= 0 && x.at >= base[x.from] && !slices.Contains(there[x.from][x.at:x.data], false) {
			want.numbers[x.from] = append(want.numbers[x.from], x.number)
			want.missing[x.number] = 0
			for _, ok := range there[x.from][x.data:x.end] {
				if !ok {
					want.missing[x.number]++
				}
			}
		}
	}
}

// strangers returns how many segments of a capture no node of the connection has sent (strays), and how many of these come
// after the FIN or RST of a side.
func strangers(list []caught) (strays, late int) {
	ended := false
	for _, p := range list {
		ended = ended || !p.stray && p.flags&(finFlag|rstFlag) != 0
		if p.stray {
			strays++
			if ended {
				late++
			}
		}
	}
	return strays, late
}
