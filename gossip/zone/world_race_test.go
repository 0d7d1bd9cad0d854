//go:build race

package zone

const race = true
