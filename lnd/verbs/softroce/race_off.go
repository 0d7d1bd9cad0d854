//go:build !race

package softroce

func raceSend()    {}
func raceReceive() {}
