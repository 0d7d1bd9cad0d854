package engine

// partner draws the participant to ping in a cycle: any other one, dead ones included,
// which may have come back (gossip design, State Exchange).
func (m *Machine) partner() int {
	i := m.rng.IntN(m.list.Len() - 1)
	if i >= m.self {
		i++
	}
	return i
}

// second draws a second partner for a cycle whose first partner is probably dead and will not
// answer. It returns -1 if there is no participant to draw. With a second partner nearly every
// cycle brings an answer, even if many participants are dead (local policy). Without it, news
// of live participants would spread so slowly that their ages exceed the limit. Dead
// participants are pinged as often as without this rule.
//
// Two of three draws are among the participants that are not overdue. The third is among all
// that may be alive, because a live participant that all others consider overdue needs a ping
// as well.
func (m *Machine) second(first int) int {
	if !m.needsSecond(first) {
		return -1
	}
	if m.rng.IntN(3) > 0 {
		if i := m.among(byte(m.limits.Overdue), first); i >= 0 {
			return i
		}
	}
	return m.among(byte(m.limits.Dead), first)
}

// needsSecond reports whether a cycle needs a second partner: the first partner is overdue, or
// no message was merged in the last two cycles. In the second case many participants may have
// just died, which are not overdue yet.
func (m *Machine) needsSecond(first int) bool {
	if m.limits.Overdue == 0 || m.pause.wakes(m) {
		return false
	}
	return m.cycle-m.merged > 2 || first < m.ages.n && int(m.ages.bytes[first]) > m.limits.Overdue
}

// among draws a participant whose age is at most limit. It never draws this node, nor the
// participant in the parameter other. It returns -1 if there is none to draw.
func (m *Machine) among(limit byte, other int) int {
	except, count := [...]int{min(m.self, other), max(m.self, other)}, m.ages.notAbove(limit)
	old := func(i int) bool { return i >= m.ages.n || m.ages.bytes[i] > limit }
	for _, e := range except {
		if !old(e) {
			count--
		}
	}
	if count <= 0 {
		return -1
	}
	k := m.rng.IntN(count)
	i := m.ages.find(limit, k)
	for _, e := range except {
		if !old(e) && i >= e {
			k++
			i = m.ages.find(limit, k)
		}
	}
	return i
}

// ping sends this node's ages to a participant.
func (m *Machine) ping(to int, out *Output) {
	from := len(out.Buf)
	out.Buf = m.header(out.Buf)
	out.Buf = append(out.Buf, m.ages.Bytes()...)
	m.queue(m.list.NID(to), false, from, out)
	m.stats.PingsSent++
}
