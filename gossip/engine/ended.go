package engine

// Ended reports whether the death of participant i is certain: this node has reported it, and has
// news since then of more than half of all participants, and of enough for a quorum. A message
// carries the ages of all participants, so this news would have brought a young age of i as well
// if these participants still heard it; then i would be alive here. So most participants take i
// for dead. At most one side of a partition has so many participants.
//
// The quorum alone does not make a death certain: when the network is partitioned, the deaths on the other side are
// noticed one after the other, and the first ones while there is still a quorum.
//
// The parameter ran says how many cycles ago the caller last knew that the node of participant i runs; the question
// is whether it has died since. If the latest news of i is from before that, the reported death may be that of an
// earlier process, and the later one may still be silent after its start, or its first news under way. So Ended then
// returns false, unless ran is longer than the silence and the detection of a death take together.
func (m *Machine) Ended(i, ran int) bool {
	h := &m.health
	reported, died := h.diedAt[i]
	if !died || i >= m.ages.n || m.ages.n < h.total || h.is(i) || m.Unsure() {
		return false
	}
	age := int(m.ages.bytes[i])
	if (age >= ran || age >= oldest) && ran <= m.limits.Stealth+m.limits.Dead {
		return false
	}
	since := m.sinceDeath(age, reported)
	return since >= 0 && m.ages.notAbove(byte(since))*100 > max(h.percent, 50)*h.total
}

// sinceDeath returns for how many cycles, at most Limits.Dead, a participant with the given age has been dead for this
// node, which reported the death in its cycle reported. Cycles up to pause.held, the latest one in which a pause of this
// node suppressed events, do not count, because the node may have forgotten the ages that it had before.
//
// A lower age may have come after the report. If it is above Limits.Again, the participant is still dead, but only the
// cycles since that age exceeded Limits.Dead count; the result is negative if it has not exceeded Limits.Dead yet. The
// ages oldest and unheard do not show when the participant was last heard, so then all cycles since the report count.
func (m *Machine) sinceDeath(age int, reported uint64) int {
	since := min(m.cycle-max(reported, m.pause.held), uint64(m.limits.Dead))
	if age >= oldest {
		return int(since)
	}
	return min(int(since), age-m.limits.Dead-1)
}
