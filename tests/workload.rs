//! The study's numbers, bit for bit.

use preview_cost::workload::Workload;

#[test]
fn projection_equals_every_golden_row_bit_for_bit() {
    let golden = include_str!("golden/projection.csv");
    let mut rows = 0;
    for line in golden.lines().skip(1) {
        let field: Vec<&str> = line.split(',').collect();
        let bits = |text: &str| u64::from_str_radix(text, 16).expect("a bit pattern");
        let workload = Workload::new(field[0].parse().unwrap(), field[1].parse().unwrap());
        let mut reader = workload.reader();
        workload
            .rows()
            .try_for_each(|(name, value)| reader.accept(name, value))
            .unwrap();
        let mut inputs = reader.finish().unwrap();
        workload.overrides(field[2].parse().unwrap()).apply_to(&mut inputs);
        let answer = workload.project(&inputs);
        assert_eq!(answer.ending_mrr.to_bits(), bits(field[3]), "{line}");
        assert_eq!(answer.ending_cash.to_bits(), bits(field[4]), "{line}");
        assert_eq!(answer.lifetime_revenue.to_bits(), bits(field[5]), "{line}");
        assert_eq!(answer.runway_month, field[6].parse::<i32>().unwrap(), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 15, "the golden file has 15 rows");
}

#[test]
fn digests_tell_answers_apart_by_a_single_bit() {
    let workload = Workload::new(3, 12);
    let mut reader = workload.reader();
    workload
        .rows()
        .try_for_each(|(name, value)| reader.accept(name, value))
        .unwrap();
    let answer = workload.project(&reader.finish().unwrap());
    let mut other = answer;
    other.ending_cash = f64::from_bits(other.ending_cash.to_bits() ^ 1);
    assert!(answer.same_bits(&answer) && !answer.same_bits(&other));
    assert_ne!(answer.digest(), other.digest());
    assert_eq!(answer.digest().to_string().len(), 32);
}
