package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// healthMessage is a message between clients and servers of client health.
type healthMessage struct {
	healthwire.Message
	remarks []string // what is odd about it
}

func readHealth(put wire.PutCmd, payload []byte) (capture.Understood, error) {
	parsed, err := healthwire.ParseMessage(payload)
	if errors.Is(err, healthwire.ErrShort) || errors.Is(err, healthwire.ErrMagic) || errors.Is(err, healthwire.ErrVersion) {
		return nil, err // nothing of it can be trusted
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

// portal is where a message of its kind belongs.
func (m *healthMessage) portal() uint32 {
	switch m.Kind {
	case healthwire.Accept, healthwire.Reject, healthwire.Pong, healthwire.Chosen, healthwire.Notice, healthwire.Ask:
		return healthwire.ClientPortal
	}
	return healthwire.ServerPortal
}

// listed reports whether a message speaks of many clients.
func (m *healthMessage) listed() bool {
	return m.Kind == healthwire.Digest || m.Kind == healthwire.DigestReply || m.tombstones()
}

// tombstones reports whether a message is about tombstones.
func (m *healthMessage) tombstones() bool {
	return m.Kind == healthwire.Tombstones || m.Kind == healthwire.TombstonesReply
}

// role is what the server in a message is to the client.
func (m *healthMessage) role() string {
	if m.Code == healthwire.Stale {
		if m.Kind == healthwire.Ask {
			return "is it there? a later life connects at"
		}
		return "later life at" // servers of older versions name the master
	}
	switch m.Kind {
	case healthwire.Accept:
		return "previous master"
	case healthwire.Choose:
		return "new master"
	case healthwire.Notice:
		if m.Code == healthwire.Draining {
			return "ask" // the master itself, or who has fewer clients
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
	s += fmt.Sprintf(" life %d", m.Incarnation)
	if m.Code != healthwire.OtherTimes { // it has T_evict there
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

// load is how many clients the sender of a digest watches over, and why it takes no
// more.
func (m *healthMessage) load() string {
	s := fmt.Sprintf("load %d", m.Epoch)
	if m.Code != healthwire.OK {
		s += fmt.Sprintf(", %v", m.Code)
	}
	return s
}

// tellsCode reports whether the code of a message means something.
func (m *healthMessage) tellsCode() bool {
	return m.Code != healthwire.OK || m.portal() == healthwire.ClientPortal || m.Kind == healthwire.Disconnect || m.Kind == healthwire.Here
}

// marked says how many clients of a digest are marked, and with what.
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

// mark says in a word what an entry is marked with; "": nothing.
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
		line := fmt.Sprintf("client %v, life %d", m.Client, m.Incarnation)
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

// token is enough of the token to tell it from others, and too little to use it.
func (m *healthMessage) token() string { return fmt.Sprintf("%x", m.Token[:min(len(m.Token), 4)]) }

// entryLines are a line for each client, with what its mark says.
func entryLines(list healthwire.Entries, mark func(healthwire.Entry) string) (lines []string) {
	for i := range list.Len() {
		if i == maxMissingLines {
			return append(lines, fmt.Sprintf("%d more", list.Len()-i))
		}
		e := list.At(i)
		line := fmt.Sprintf("%d: client %v, life %d", i, e.Client, e.Incarnation)
		if word := mark(e); word != "" {
			line += ", " + word
		}
		if e.Epoch > 0 {
			line += fmt.Sprintf(", epoch %d", e.Epoch)
		}
		lines = append(lines, line)
	}
	return lines
}

// MarshalJSON implements json.Marshaler.
func (m *healthMessage) MarshalJSON() ([]byte, error) {
	e := healthEntry{
		Kind: m.Kind.String(), Code: m.Code.String(), Sequence: strconv.FormatUint(m.Sequence, 10), ServerIncarnation: strconv.FormatUint(m.ServerIncarnation, 10),
		Epoch: m.Epoch, Name: string(m.Name), Token: m.token(), Signed: len(m.Proof) > 0,
		Entries: incarnationEntries(m.Entries, m.mark), Remarks: m.remarks,
	}
	if m.Client.IsValid() {
		e.Client, e.Incarnation = m.Client.String(), strconv.FormatUint(m.Incarnation, 10)
	}
	m.putTimes(&e)
	switch {
	case m.listed():
		load := m.Epoch
		e.Load = &load
	case !m.Server.IsValid():
	case m.Code == healthwire.Stale:
		e.Later = m.Server.String()
	case m.Kind == healthwire.Accept:
		e.Previous = m.Server.String()
	case m.role() == "ask":
		e.Ask = m.Server.String()
	default:
		e.Master = m.Server.String()
	}
	return json.Marshal(e)
}

// healthEntry is a message of client health as JSON.
type healthEntry struct {
	Kind              string             `json:"kind"`
	Code              string             `json:"code"`
	Client            string             `json:"client,omitempty"`
	Incarnation       string             `json:"incarnation,omitempty"` // of the client
	Name              string             `json:"name,omitempty"`
	ServerIncarnation string             `json:"server_life"`
	Sequence          string             `json:"sequence"`
	Epoch             uint32             `json:"epoch"`
	Retry             int64              `json:"retry_ms,omitempty"`
	Ping              int64              `json:"ping_ms,omitempty"`  // T_ping of the client
	Found             int64              `json:"found_ms,omitempty"` // its T_client + T_elect
	Evict             int64              `json:"evict_ms,omitempty"` // T_evict of the server
	Master            string             `json:"master,omitempty"`
	Previous          string             `json:"previous_master,omitempty"`
	Ask               string             `json:"ask,omitempty"`           // who is to be asked first to be the master
	Later             string             `json:"later_life_at,omitempty"` // of stale; servers of older versions name the master
	Load              *uint32            `json:"load,omitempty"`          // of the sender of a digest: clients whose master it is
	Token             string             `json:"token_begins,omitempty"`
	Signed            bool               `json:"signed,omitempty"`
	Entries           []incarnationEntry `json:"entries,omitempty"` // of digests
	Remarks           []string           `json:"odd,omitempty"`
}

// incarnationEntry is an incarnation of a client as JSON.
type incarnationEntry struct {
	Client      string `json:"client"`
	Incarnation string `json:"incarnation"`
	Mark        string `json:"mark,omitempty"`  // to confirm, known, unknown, or why it is evicted
	Epoch       uint32 `json:"epoch,omitempty"` // the last 24 bits of that of the choice that ends
}

func incarnationEntries(list healthwire.Entries, mark func(healthwire.Entry) string) (entries []incarnationEntry) {
	for i := range list.Len() {
		e := list.At(i)
		entries = append(entries, incarnationEntry{e.Client.String(), strconv.FormatUint(e.Incarnation, 10), mark(e), e.Epoch})
	}
	return entries
}
