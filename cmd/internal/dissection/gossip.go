package dissection

import (
	"errors"
	"fmt"
	"strings"

	gossipwire "ulnet/gossip/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// gossipMessage is a ping or reply of gossip.
type gossipMessage struct{ gossipwire.Message }

func readGossip(put wire.PutCmd, payload []byte) (capture.Understood, error) {
	m, err := gossipwire.ParseMessage(put.MatchBits, payload)
	if err != nil && !errors.Is(err, gossipwire.ErrBody) {
		return nil, err // the header is not valid
	}
	return &gossipMessage{m}, err
}

func (m *gossipMessage) kind() string {
	if m.Reply {
		return "reply"
	}
	return "ping"
}

// Summary implements capture.Understood.
func (m *gossipMessage) Summary() string {
	s := fmt.Sprintf("gossip %s, clock %d", m.kind(), m.Clock)
	switch {
	case m.Reply && len(m.Entries) == 1:
		return s + ", 1 age"
	case m.Reply:
		return s + fmt.Sprintf(", %d ages", len(m.Entries))
	}
	heard, most := 0, uint8(0)
	for _, e := range m.Entries {
		if e.Age != 255 {
			heard, most = heard+1, max(most, e.Age)
		}
	}
	return s + fmt.Sprintf(", %d of %d heard of, ages to %d", heard, m.N, most)
}

// agesPerLine is the number of ages per line of the details.
const agesPerLine = 32

// Details implements capture.Understood.
func (m *gossipMessage) Details() []string {
	lines := []string{fmt.Sprintf("%s, version %d, flags %v, n %d, clock %d", m.kind(), gossipwire.Version, m.Flags, m.N, m.Clock)}
	if m.Flags&gossipwire.FlagParams != 0 {
		lines = append(lines, fmt.Sprintf("interval %v, list %v", m.Interval, m.Digest))
	}
	if m.Flags&gossipwire.FlagStaged != 0 {
		lines = append(lines, fmt.Sprintf("staged list %v", m.Staged))
	}
	for rest := m.Entries; len(rest) > 0; {
		row := rest[:min(agesPerLine, len(rest))]
		rest = rest[len(row):]
		lines = append(lines, m.row(row))
	}
	return lines
}

// row returns a line of ages. The ages of a ping are in the order of the list of participants.
// In a reply, each age has an index into that list.
func (m *gossipMessage) row(entries []gossipwire.Entry) string {
	var b strings.Builder
	if !m.Reply {
		fmt.Fprintf(&b, "ages from %d:", entries[0].Index)
	} else {
		b.WriteString("ages:")
	}
	for _, e := range entries {
		if m.Reply {
			fmt.Fprintf(&b, " %d:%v", e.Index, e)
		} else {
			fmt.Fprintf(&b, " %v", e)
		}
	}
	return b.String()
}

// MarshalJSON implements json.Marshaler.
func (m *gossipMessage) MarshalJSON() ([]byte, error) {
	o := object{{"kind", m.kind()}, {"n", m.N}, {"clock", decimal(m.Clock)}}
	o.some("signed", m.Flags&gossipwire.FlagSigned != 0)
	if m.Flags&gossipwire.FlagParams != 0 {
		o.some("interval_ms", m.Interval.Milliseconds())
		o.some("digest", m.Digest.String())
	}
	if m.Flags&gossipwire.FlagStaged != 0 {
		o.some("staged", m.Staged.String())
	}
	var ages []int
	var entries [][2]int
	for _, e := range m.Entries {
		ages, entries = append(ages, int(e.Age)), append(entries, [2]int{e.Index, int(e.Age)})
	}
	if m.Reply {
		o.some("entries", entries) // entries, each with an index and an age
	} else {
		o.some("ages", ages) // in the order of the list of participants; 255: the sender has never had a sign of that participant
	}
	return o.MarshalJSON()
}
