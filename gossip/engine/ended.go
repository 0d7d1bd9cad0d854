package engine

// Ended reports whether the death of participant i is certain: this node has reported it, and has
// news since then of more than half of all participants, and of enough for a quorum. A message
// carries the ages of all participants, so this news would have brought a young age of i as well
// if these participants still heard it; then i would be alive here. So most participants take i
// for dead. At most one side of a partition has so many participants.
//
// The quorum alone does not show that: when the network is partitioned, the deaths on the other side
// are noticed one after the other, and the first ones while there is still a quorum.
//
// The caller knows that the node ran a number of cycles ago, and asks whether it has died since. If no news of i is as
// young as that, the death is that of an earlier process of the node, as long as the later one may still be silent after
// its start, or its first news may still be under way.
func (m *Machine) Ended(i, ran int) bool {
	h := &m.health
	if i >= m.ages.n || m.ages.n < h.total || h.died[i] == 0 || h.is(i) || m.Unsure() {
		return false
	}
	if age := int(m.ages.bytes[i]); (age >= ran || age >= oldest) && ran <= m.limits.Stealth+m.limits.Dead {
		return false
	}
	dead := m.limits.Dead
	since := int(m.ages.bytes[i]) - dead - 1 // cycles since the age of i exceeded the limit
	if since < 0 {
		return false
	}
	return m.ages.notAbove(byte(min(since, dead)))*100 > max(h.percent, 50)*h.total
}
