package wire

// Size returns the number of bytes of a message that is sent without a key, with all its parts
// except the headers of the second and later ones.
func Size(names Names, m *Message) int {
	n := HeaderSize
	switch {
	case m.Kind == Heartbeat:
		n += 16
	case m.Kind == LinkRequest:
		n += 3 + len(names.ID(m.From).canonical)
	case m.Kind == DiscoveryRequest:
		n += 2 + len(names.ID(m.From).canonical)
	case m.Kind.HasMembers():
		n += countsSize + listsSize(names, m)
	case m.Kind.tables():
		n += 4 + len(m.Lists.Tables)*tableVerSize
	case m.Kind == AttributeData:
		n += 4
		for i := range m.Lists.Data {
			n += dataSize(&m.Lists.Data[i])
		}
	case m.Reason == Removed:
		n += 1 + versionLen
	case m.Reason == Redirect:
		n += 1 + memberOverhead + len(names.ID(m.About).canonical)
	default:
		n++
	}
	return n
}

func listsSize(names Names, m *Message) int {
	l := m.Lists
	if l == nil {
		return 0
	}
	silences := len(l.Silences)
	if silences > 0 {
		silences++ // one more for the mark in front of the silences, which is a suspicion, too
	}
	n := len(l.Leaves)*departureSize + silences*suspicionSize + len(l.Suspicions)*suspicionSize + len(l.Removed)*removedSize
	for i := range l.Alive {
		n += memberOverhead + len(names.ID(l.Alive[i].Node).canonical)
	}
	if l.View != nil {
		members, bytes, gone := l.View.Size()
		n += bytes + members*memberOverhead
		if m.Flags&Repair != 0 {
			n += gone * removedSize
		}
	}
	return n
}

func dataSize(d *TableData) int {
	n := tableDataSize
	for i := range d.Entries {
		n += d.Entries[i].Size()
	}
	return n
}
