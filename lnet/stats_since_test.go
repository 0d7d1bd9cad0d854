package lnet

import (
	"reflect"
	"testing"
)

// TestStatsSince: Since subtracts the earlier value of all counters, but not of the gauges of messages
// in flight.
func TestStatsSince(t *testing.T) {
	var before, after Stats
	n := fill(reflect.ValueOf(&before).Elem(), 1)
	fill(reflect.ValueOf(&after).Elem(), 1)
	before.DropReasons = map[string]uint64{"a": 2, "b": 3}
	after.DropReasons = map[string]uint64{"a": 2, "b": 5}
	got := after.Since(before)
	if len(got.DropReasons) != 1 || got.DropReasons["b"] != 2 || after.DropReasons["b"] != 5 {
		t.Errorf("reasons %v, of %v", got.DropReasons, after.DropReasons)
	}
	if got.MsgsAlloc != after.MsgsAlloc || got.MsgsMax != after.MsgsMax {
		t.Errorf("messages in flight: %+v", got)
	}
	got.MsgsAlloc, got.MsgsMax, got.DropReasons = 0, 0, nil
	if !reflect.DeepEqual(got, Stats{}) {
		t.Errorf("of %d fields some are left: %+v", n, got)
	}
	before.MsgsAlloc, before.MsgsMax = 0, 0
	if got := (Stats{DropReasons: map[string]uint64{"b": 2}}).Since(before); len(got.DropReasons) != 0 || !reflect.DeepEqual(got, Stats{DropReasons: map[string]uint64{}}) {
		t.Errorf("less than before: %+v", got)
	}
}

// fill gives all numbers of a struct different values, and returns the next one.
func fill(v reflect.Value, next uint64) uint64 {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Uint64:
			f.SetUint(next)
			next++
		case reflect.Struct:
			next = fill(f, next)
		}
	}
	return next
}
