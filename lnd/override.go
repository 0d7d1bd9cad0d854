package lnd

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
)

// Override sets the tunables that one NI has for itself: values has their names, and numbers in the
// unit that users write. An error wraps EINVAL; some of the tunables in values may be set by then.
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
