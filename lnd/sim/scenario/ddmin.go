package scenario

import "slices"

// ddmin returns a part of list that still fails, from which no single element
// can be left out (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input"). The list itself must fail. If fails returns an
// error, ddmin stops and returns it.
func ddmin[T any](list []T, fails func([]T) (bool, error)) ([]T, error) {
	if bad, err := fails(nil); bad || err != nil {
		return nil, err
	}
	for parts := 2; len(list) > 0; {
		smaller, err := firstFailing(list, min(parts, len(list)), fails)
		switch {
		case err != nil:
			return list, err
		case smaller != nil:
			list, parts = smaller, max(parts-1, 2)
		case parts >= len(list):
			return list, nil
		default:
			parts *= 2
		}
	}
	return list, nil
}

// firstFailing cuts list into parts. It tries each part alone, and then list without each of the
// parts. It returns the first of these lists that fails; nil if none does.
func firstFailing[T any](list []T, parts int, fails func([]T) (bool, error)) ([]T, error) {
	cut := func(i int) int { return i * len(list) / parts }
	for _, complement := range []bool{false, true} {
		for i := range parts {
			candidate := slices.Clone(list[cut(i):cut(i+1)])
			if complement {
				candidate = slices.Concat(list[:cut(i)], list[cut(i+1):])
			}
			if len(candidate) == len(list) {
				continue
			}
			if bad, err := fails(candidate); bad || err != nil {
				return candidate, err
			}
		}
	}
	return nil, nil
}
