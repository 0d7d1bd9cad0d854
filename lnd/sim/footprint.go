package sim

import "reflect"

// Footprint predicts the bytes of memory that a [Network] takes for its nodes, each with a
// timer, and for the given number of messages on their way at a time. The memory of programs
// is not included. Clocks that drift, slow nodes and access links take some 24 to 40 bytes a
// node each, once there is one.
func Footprint[M any](nodes, messages int) int64 {
	const perEvent = 256 / blockLen
	perNode := reflect.TypeFor[node[M]]().Size() + perEvent + 1
	perMessage := reflect.TypeFor[flight[M]]().Size() + perEvent + 1
	const levels = 64 << 10
	return int64(nodes)*int64(perNode) + int64(messages)*int64(perMessage) + levels
}
