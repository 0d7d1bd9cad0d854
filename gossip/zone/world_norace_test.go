//go:build !race

package zone

const race = false
