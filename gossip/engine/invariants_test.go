package engine

import "fmt"

// invariants returns an error if an invariant does not hold; it is called after every step.
func (m *Machine) invariants() error {
	if m.self < m.ages.n && m.ages.bytes[m.self] != 0 {
		return fmt.Errorf("our own age is %d", m.ages.bytes[m.self])
	}
	for i := m.ages.n; i < len(m.ages.bytes); i++ {
		if m.ages.bytes[i] != unheard && m.ages.bytes[i] != oldest {
			return fmt.Errorf("the padding has an age of %d", m.ages.bytes[i])
		}
	}
	if !m.pause.holds(m.cycle) {
		for i := range m.ages.n {
			age, alive := int(m.ages.bytes[i]), m.health.is(i)
			if age > m.limits.Dead && alive || age <= m.limits.Again && !alive {
				return fmt.Errorf("participant %d of age %d counts as alive: %v", i, age, alive)
			}
		}
	}
	return nil
}
