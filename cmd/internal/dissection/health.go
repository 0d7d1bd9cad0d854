package dissection

import (
	"errors"
	"fmt"
	"slices"

	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// healthMessage is a message of client health, between a client and a server or between servers.
type healthMessage struct {
	healthwire.Message
	remarks []string // violations of the protocol, printed after "odd:"
}

func readHealth(put wire.PutCmd, payload []byte) (capture.Understood, error) {
	parsed, err := healthwire.ParseMessage(payload)
	if errors.Is(err, healthwire.ErrShort) || errors.Is(err, healthwire.ErrMagic) || errors.Is(err, healthwire.ErrVersion) {
		return nil, err // not even the fixed header is valid
	}
	m := &healthMessage{Message: parsed}
	m.Name, m.Token, m.Entries, m.Proof = slices.Clone(m.Name), slices.Clone(m.Token), slices.Clone(m.Entries), slices.Clone(m.Proof)
	if put.MatchBits != healthwire.Bits {
		m.remarks = remark(m.remarks, "match bits %#x, not %#x", put.MatchBits, uint64(healthwire.Bits))
	}
	if want := m.portal(); err == nil && put.Portal != want {
		m.remarks = remark(m.remarks, "a %v belongs to portal %d", m.Kind, want)
	}
	return m, err
}

// portal returns the portal that messages of this kind are sent to.
func (m *healthMessage) portal() uint32 {
	switch m.Kind {
	case healthwire.Accept, healthwire.Reject, healthwire.Pong, healthwire.Chosen, healthwire.Notice, healthwire.Ask:
		return healthwire.ClientPortal
	}
	return healthwire.ServerPortal
}

// listed reports whether the message carries a list of clients.
func (m *healthMessage) listed() bool {
	return m.Kind == healthwire.Digest || m.Kind == healthwire.DigestReply || m.tombstones()
}

// tombstones reports whether the message asks for tombstones or returns them.
func (m *healthMessage) tombstones() bool {
	return m.Kind == healthwire.Tombstones || m.Kind == healthwire.TombstonesReply
}

// role says what the server in the field Server is for the client.
func (m *healthMessage) role() string {
	if m.Code == healthwire.Stale {
		if m.Kind == healthwire.Ask {
			return "is it there? a later incarnation connects at"
		}
		return "later incarnation at" // servers of older versions name the master in this field
	}
	switch m.Kind {
	case healthwire.Accept:
		return "previous master"
	case healthwire.Choose:
		return "new master"
	case healthwire.Notice:
		if m.Code == healthwire.Draining {
			return "ask" // the server to ask first: the master itself, or a server with fewer clients
		}
	}
	return "master"
}

// Summary implements capture.Understood.
func (m *healthMessage) Summary() string {
	s := fmt.Sprintf("health %v", m.Kind)
	switch {
	case m.Kind == healthwire.Tombstones:
		return s + fmt.Sprintf(", not older than %v", m.Retry) + odd(m.remarks)
	case m.Kind == healthwire.TombstonesReply:
		return s + fmt.Sprintf(", clients: %d, message %d of %d", m.Entries.Len(), m.Epoch>>16+1, m.Epoch&0xffff) + odd(m.remarks)
	case m.listed():
		return s + fmt.Sprintf(", clients: %d%s, %s", m.Entries.Len(), m.marked(), m.load()) + odd(m.remarks)
	}
	if m.tellsCode() {
		s += fmt.Sprintf(" %v", m.Code)
	}
	s += fmt.Sprintf(", client %v", m.Client)
	if len(m.Name) > 0 {
		s += fmt.Sprintf(" %q", m.Name)
	}
	s += fmt.Sprintf(" incarnation %d", m.Incarnation)
	if m.Code != healthwire.OtherTimes { // a message with this code has T_evict in the field Epoch
		s += fmt.Sprintf(", epoch %d", m.Epoch)
	}
	if m.Server.IsValid() {
		s += fmt.Sprintf(", %s %v", m.role(), m.Server)
	}
	if len(m.Proof) > 0 {
		s += ", signed"
	}
	if times := m.times(); times != "" {
		s += ", " + times
	}
	return s + odd(m.remarks)
}

// load returns how many clients the sender of a digest is the master of, and the reason if it
// accepts no more.
func (m *healthMessage) load() string {
	s := fmt.Sprintf("load %d", m.Epoch)
	if m.Code != healthwire.OK {
		s += fmt.Sprintf(", %v", m.Code)
	}
	return s
}

// tellsCode reports whether the code has a meaning in this kind of message.
func (m *healthMessage) tellsCode() bool {
	return m.Code != healthwire.OK || m.portal() == healthwire.ClientPortal || m.Kind == healthwire.Disconnect || m.Kind == healthwire.Here
}

// marked returns how many clients of a digest are marked, with the meaning of the mark.
func (m *healthMessage) marked() string {
	n := 0
	for i := range m.Entries.Len() {
		if m.Entries.At(i).Mark != 0 {
			n++
		}
	}
	switch {
	case m.Kind == healthwire.DigestReply:
		return fmt.Sprintf(", known: %d", n)
	case n > 0:
		return fmt.Sprintf(", to confirm: %d", n)
	}
	return ""
}

// mark returns the meaning of the mark of an entry, or "" if the entry has no mark.
func (m *healthMessage) mark(e healthwire.Entry) string {
	switch {
	case m.Kind == healthwire.TombstonesReply:
		return fmt.Sprintf("%d/255 of its time left", e.Mark)
	case e.Mark > 1:
		return fmt.Sprintf("?%d?", e.Mark)
	case m.Kind == healthwire.DigestReply && e.Mark == 0:
		return "unknown"
	case m.Kind == healthwire.DigestReply:
		return "known"
	case e.Mark == 1:
		return "to confirm"
	}
	return ""
}

// Details implements capture.Understood.
func (m *healthMessage) Details() []string {
	lines := []string{m.header()}
	if m.Client.IsValid() {
		line := fmt.Sprintf("client %v, incarnation %d", m.Client, m.Incarnation)
		if len(m.Name) > 0 {
			line += fmt.Sprintf(", name %q", m.Name)
		}
		lines = append(lines, line)
	}
	if m.Server.IsValid() {
		lines = append(lines, fmt.Sprintf("%s %v", m.role(), m.Server))
	}
	if len(m.Token) > 0 {
		lines = append(lines, "token "+m.token()+"…")
	}
	if len(m.Proof) > 0 {
		lines = append(lines, "signed")
	}
	lines = append(lines, entryLines(m.Entries, m.mark)...)
	return append(lines, remarkLines(m.remarks)...)
}

// token returns the first 4 bytes of the token: enough to recognize it, too few to
// impersonate the client.
func (m *healthMessage) token() string { return fmt.Sprintf("%x", m.Token[:min(len(m.Token), 4)]) }

// entryLines returns a line for each client, with the meaning of its mark.
func entryLines(list healthwire.Entries, mark func(healthwire.Entry) string) []string {
	return boundedLines(list.Len(), "%d more", func(i int) string {
		e := list.At(i)
		line := fmt.Sprintf("%d: client %v, incarnation %d", i, e.Client, e.Incarnation)
		if word := mark(e); word != "" {
			line += ", " + word
		}
		if e.Epoch > 0 {
			line += fmt.Sprintf(", epoch %d", e.Epoch)
		}
		return line
	})
}

// MarshalJSON implements json.Marshaler.
func (m *healthMessage) MarshalJSON() ([]byte, error) {
	o := object{{"kind", m.Kind.String()}, {"code", m.Code.String()}}
	if m.Client.IsValid() {
		o.put("client", m.Client.String())
		o.put("incarnation", decimal(m.Incarnation))
	}
	o.some("name", string(m.Name))
	m.putTimes(&o)
	if key := m.serverKey(); m.Server.IsValid() && !m.listed() {
		o.put(key, m.Server.String())
	}
	if m.listed() {
		o.put("load", m.Epoch) // number of clients whose master is the sender of the digest
	}
	o.some("token_begins", m.token())
	o.some("signed", len(m.Proof) > 0)
	o.some("entries", incarnationObjects(m.Entries, m.mark))
	o.some("odd", m.remarks)
	return o.MarshalJSON()
}

// serverKey returns the JSON key of the field Server: the role of that server for the client.
func (m *healthMessage) serverKey() string {
	switch {
	case m.Code == healthwire.Stale:
		return "later_life_at" // servers of older versions name the master in this field
	case m.Kind == healthwire.Accept:
		return "previous_master"
	case m.role() == "ask":
		return "ask" // the server to be asked first to be the master
	}
	return "master"
}

// incarnationObjects returns the entries of a list as JSON. In digests the mark is
// "to confirm", "known" or "unknown"; in a batch it is the cause of the eviction. An eviction belongs to
// one choice of a master: the field epoch has the last 24 bits of the number of that choice.
func incarnationObjects(list healthwire.Entries, mark func(healthwire.Entry) string) (objects []object) {
	for i := range list.Len() {
		e := list.At(i)
		o := object{{"client", e.Client.String()}, {"incarnation", decimal(e.Incarnation)}}
		o.some("mark", mark(e))
		o.some("epoch", e.Epoch)
		objects = append(objects, o)
	}
	return objects
}
