package dissection

import (
	"bytes"
	"fmt"
	"strings"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
	"ulnet/scoll/rmcast"
	rmcastwire "ulnet/scoll/rmcast/wire"
)

// rmcastPortals are the dissectors of reliable multicast.
var rmcastPortals = capture.Portals{
	rmcastwire.DataPortal:    {Protocol: "rmcast", Read: readMcastDatagram},
	rmcastwire.ControlPortal: {Protocol: "rmcast", Read: readMcastControl},
	rmcastwire.ManagerPortal: {Protocol: "rmcast", Read: readMcastOrder},
}

// mcastFrame is what all messages of reliable multicast have.
type mcastFrame struct {
	version int  // version of the protocol
	signed  bool // an authentication code ends the message
}

// readMcastFrame returns a message without its authentication code, and what all messages have. If the
// message has an older version of the protocol, the returned one has the present version, because both
// versions have the same layout.
func readMcastFrame(portal int, payload []byte) ([]byte, mcastFrame) {
	payload, signed := rmcastwire.Unsigned(portal, payload)
	f := mcastFrame{rmcastwire.VersionOf(payload), signed}
	if f.version > 0 && f.version < rmcastwire.ProtocolVersion {
		payload = bytes.Clone(payload)
		rmcastwire.SetVersion(payload, rmcastwire.ProtocolVersion)
	}
	return payload, f
}

// mcastDatagram is a fragment of a message, or a heartbeat.
type mcastDatagram struct {
	rmcastwire.Datagram
	mcastFrame
	control *mcastControl // the control message in the datagram; nil: there is none
}

func readMcastDatagram(_ wire.PutCmd, payload []byte) (capture.Understood, error) {
	payload, frame := readMcastFrame(rmcastwire.DataPortal, payload)
	d, _, err := rmcastwire.ParseDatagram(payload)
	if err != nil && !d.Version.IsValid() {
		return nil, err // the message has no valid header
	}
	m := &mcastDatagram{Datagram: d, mcastFrame: frame}
	if err == nil && d.Flags&rmcastwire.FlagControl != 0 {
		m.control, err = parseMcastControl(d.ControlIn(payload))
	}
	return m, err
}

func (d *mcastDatagram) kind() string {
	switch {
	case d.Count == 0:
		return "heartbeat"
	case d.Flags&rmcastwire.FlagRepair != 0:
		return "repair"
	}
	return "data"
}

func (d *mcastDatagram) flags() string {
	var list []string
	for _, f := range []struct {
		flag rmcastwire.DatagramFlags
		name string
	}{{rmcastwire.FlagRepair, "repair"}, {rmcastwire.FlagTree, "tree"}, {rmcastwire.FlagBatch, "batch"}, {rmcastwire.FlagPacked, "packed"}, {rmcastwire.FlagControl, "control"}} {
		if d.Flags&f.flag != 0 {
			list = append(list, f.name)
		}
	}
	return mcastFlags(list, d.signed)
}

// mcastFlags joins the names of the flags, with "signed" for a signed message.
func mcastFlags(list []string, signed bool) string {
	if signed {
		list = append(list, "signed")
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}

// Summary implements capture.Understood.
func (d *mcastDatagram) Summary() string {
	s := fmt.Sprintf("rmcast %s, group %d, origin #%d seq %d", d.kind(), d.Group, d.Origin, d.Seq)
	switch {
	case d.packed():
		s += fmt.Sprintf(" to %d", d.Seq+uint64(d.Count)-1)
	case d.Count > 1:
		s += fmt.Sprintf(", fragment %d of %d", d.Index+1, d.Count)
	}
	s += fmt.Sprintf(", stable below %d", d.Stable)
	if d.control != nil {
		s += "; " + d.control.Summary()
	}
	return s
}

// packed reports whether the datagram contains several whole messages.
func (d *mcastDatagram) packed() bool { return d.Flags&rmcastwire.FlagPacked != 0 }

// Details implements capture.Understood.
func (d *mcastDatagram) Details() []string {
	what := fmt.Sprintf("fragment %d of %d with %d bytes, message of %d bytes", d.Index, d.Count, d.Size, d.Length)
	if d.packed() {
		what = fmt.Sprintf("%d messages in %d bytes", d.Count, d.Size)
	}
	lines := []string{
		fmt.Sprintf("%s, version %d, group %d, flags %s, list %v", d.kind(), d.version, d.Group, d.flags(), d.Version),
		fmt.Sprintf("origin #%d, seq %d, %s", d.Origin, d.Seq, what),
		fmt.Sprintf("stable below %d, first of this list %d", d.Stable, d.First),
	}
	if d.control != nil {
		lines = append(lines, d.control.Details()...)
	}
	return lines
}

// mcastControl is a control message between members, such as acknowledgements and requests for
// repairs.
type mcastControl struct {
	mcastFrame
	group   rmcast.GroupID
	known   rmcast.Version
	entries []rmcastwire.Entry
}

func readMcastControl(_ wire.PutCmd, payload []byte) (capture.Understood, error) {
	payload, frame := readMcastFrame(rmcastwire.ControlPortal, payload)
	m, err := parseMcastControl(payload)
	if m == nil {
		return nil, err
	}
	m.mcastFrame = frame
	return m, err
}

// parseMcastControl parses a control message. Without a valid header it returns nil.
func parseMcastControl(payload []byte) (*mcastControl, error) {
	group, known, rest, err := rmcastwire.ParseControl(payload)
	if err != nil {
		return nil, err
	}
	m := &mcastControl{mcastFrame: mcastFrame{version: rmcastwire.VersionOf(payload)}, group: group, known: known}
	for len(rest) > 0 {
		var e rmcastwire.Entry
		var bad error
		e, rest, bad = rmcastwire.ParseEntry(rest)
		if bad != nil && err == nil {
			err = fmt.Errorf("entry %d: %w", len(m.entries), bad)
		}
		m.entries = append(m.entries, e)
	}
	return m, err
}

// entryText returns an entry of a control message as text.
func entryText(e *rmcastwire.Entry) string {
	s := fmt.Sprintf("%v #%d", e.Kind, e.Origin)
	switch e.Kind {
	case rmcastwire.Ack, rmcastwire.Pending, rmcastwire.Need, rmcastwire.Poll:
		s += fmt.Sprintf(" seq %d", e.First)
		if e.Count > 1 {
			s += fmt.Sprintf(" to %d", e.First+uint64(e.Count)-1)
		}
	case rmcastwire.Stable:
		s += fmt.Sprintf(" below %d, %d more sent", e.First, e.Count)
	}
	if e.Kind == rmcastwire.Pending && e.Member != 0 {
		s += fmt.Sprintf(", waits for #%d", e.Member)
	}
	if e.Flags != 0 {
		s += ", flags " + e.Flags.String()
	}
	return s
}

// shownEntries bounds the number of entries in a summary.
const shownEntries = 2

// Summary implements capture.Understood.
func (m *mcastControl) Summary() string {
	s := fmt.Sprintf("rmcast group %d", m.group)
	for i := range m.entries {
		if i == shownEntries {
			return s + fmt.Sprintf(", %d more", len(m.entries)-i)
		}
		s += ", " + entryText(&m.entries[i])
	}
	return s
}

// Details implements capture.Understood.
func (m *mcastControl) Details() []string {
	lines := []string{fmt.Sprintf("control, version %d, group %d, knows list %v, %d entries", m.version, m.group, m.known, len(m.entries))}
	if m.signed {
		lines[0] += ", signed"
	}
	for i := range m.entries {
		e := &m.entries[i]
		lines = append(lines, fmt.Sprintf("%s; list %v, first %d, count %d, who #%d, repairs %d, stable below %d",
			entryText(e), e.Version, e.First, e.Count, e.Member, e.Repairs, e.Stable))
	}
	return lines
}
