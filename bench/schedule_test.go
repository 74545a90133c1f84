package bench

import (
	"reflect"
	"testing"
)

func TestScheduleIsBalancedAndRepeatable(t *testing.T) {
	cases := []Case{{Name: "intra"}, {Name: "inter"}}
	arms := []string{"native", "native-again", "container"}
	got := Schedule(cases, arms, 1, 10, 7)
	if !reflect.DeepEqual(got, Schedule(cases, arms, 1, 10, 7)) {
		t.Error("the same seed gave another order")
	}
	if reflect.DeepEqual(got, Schedule(cases, arms, 1, 10, 8)) {
		t.Error("the seed has no effect")
	}
	count := map[Launch]int{}
	for i, l := range got {
		if l.ID != i {
			t.Fatalf("launch %d has ID %d", i, l.ID)
		}
		l.ID = 0
		count[l]++
	}
	if len(count) != 2*3*11 {
		t.Errorf("%d different launches, want %d", len(count), 2*3*11)
	}
	for i := 0; i < len(got); i += len(arms) {
		for _, l := range got[i : i+len(arms)] {
			if l.Case != got[i].Case || l.Block != got[i].Block {
				t.Fatalf("arms of one case are torn apart at launch %d", i)
			}
		}
	}
}

func TestScheduleVariesWhichArmComesFirst(t *testing.T) {
	first := map[string]int{}
	for _, l := range Schedule([]Case{{Name: "c"}}, []string{"a", "b"}, 0, 200, 1) {
		if l.ID%2 == 0 {
			first[l.Arm]++
		}
	}
	if first["a"] < 60 || first["b"] < 60 {
		t.Errorf("one arm comes first too often: %v", first)
	}
}
