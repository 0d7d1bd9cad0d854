package lnd

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
)

// Override sets tunables that an NI has for itself, by their names and in the unit of users. An
// error carries EINVAL; then some may be set.
func Override(list []Tunable, values map[string]int) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		n := values[name]
		i := slices.IndexFunc(list, func(t Tunable) bool { return t.Name == name })
		if i < 0 {
			return fmt.Errorf("no tunable %q: %w", name, syscall.EINVAL)
		}
		switch t := &list[i]; {
		case t.Among != nil && !slices.Contains(t.Among, n):
			return fmt.Errorf("%s is %d: want one of %d: %w", name, n, t.Among, syscall.EINVAL)
		case n < t.Least || n > t.Most:
			return fmt.Errorf("%s is %d: want %d to %d: %w", name, n, t.Least, t.Most, syscall.EINVAL)
		default:
			t.Set(n)
		}
	}
	return nil
}
