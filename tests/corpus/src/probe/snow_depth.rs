//! Snow depth from the echoes of the N3 probe.
//!
//! The probe hangs at a known height above ground and fires 64 pulses. Each echo gives a time of
//! flight; the median of the valid ones gives the distance to the snow. Without enough valid echoes
//! there is no value: see incident INC-2024-02 for what happens if one is made up.

/// Pulses fired for each reading.
pub const PULSES: usize = 64;

/// Fewest valid echoes from which a median is formed.
pub const MIN_VALID: usize = 16;

/// Quality of a value, as sent in the two upper bits of frame format 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    Good,
    Suspect,
    Missing,
}

/// What a driver returns: a value with its quality, or an error code and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    Value { centimetres: u16, quality: Quality },
    Nothing { error: u8 },
}

/// Geometry of one station.
#[derive(Debug, Clone, Copy)]
pub struct Mount {
    /// Height of the transducer above bare ground, in millimetres.
    pub height_mm: u32,
    /// Echoes from nearer than this are the bracket's, in millimetres.
    pub blanking_mm: u32,
}

/// Speed of sound in dry air, in millimetres per microsecond.
pub fn speed_of_sound(celsius: f32) -> f32 {
    0.3313 * (1.0 + celsius / 273.15).sqrt()
}

/// Temperature of the air column: the mean of air and snow surface (correction B of note TN-11).
///
/// Without a surface temperature the air temperature is used alone and the value is suspect,
/// because the air above snow is layered on clear nights.
pub fn column_temperature(air: f32, surface: Option<f32>) -> (f32, Quality) {
    match surface {
        Some(surface) if surface.is_finite() => ((air + surface) / 2.0, Quality::Good),
        _ => (air, Quality::Suspect),
    }
}

/// Turn times of flight in microseconds into a snow depth.
///
/// `None` in `echoes` is a pulse that was not heard again before the next one.
pub fn snow_depth(
    echoes: &[Option<u32>],
    mount: Mount,
    air: f32,
    surface: Option<f32>,
) -> Outcome {
    let (celsius, quality) = column_temperature(air, surface);
    let speed = speed_of_sound(celsius);
    let mut distances: Vec<u32> = echoes
        .iter()
        .flatten()
        .map(|&microseconds| (microseconds as f32 * speed / 2.0).round() as u32)
        .filter(|&mm| mm >= mount.blanking_mm && mm <= mount.height_mm + 50)
        .collect();
    if distances.len() < MIN_VALID {
        return Outcome::Nothing { error: 17 };
    }
    let median = median(&mut distances);
    let depth_mm = mount.height_mm.saturating_sub(median);
    Outcome::Value {
        centimetres: ((depth_mm + 5) / 10) as u16,
        quality,
    }
}

/// Return the lower median; the slice is reordered and must not be empty.
fn median(values: &mut [u32]) -> u32 {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNT: Mount = Mount { height_mm: 4_200, blanking_mm: 300 };

    fn echo(distance_mm: f32, celsius: f32) -> Option<u32> {
        Some((distance_mm * 2.0 / speed_of_sound(celsius)).round() as u32)
    }

    #[test]
    fn too_few_echoes_give_no_value() {
        let mut echoes = [None; PULSES];
        echoes[..11].fill(echo(2_080.0, -28.0));
        let outcome = snow_depth(&echoes, MOUNT, -28.0, Some(-28.0));
        assert_eq!(outcome, Outcome::Nothing { error: 17 });
    }

    #[test]
    fn the_bracket_is_not_snow() {
        let mut echoes = [echo(120.0, -5.0); PULSES];
        echoes[..20].fill(echo(2_080.0, -5.0));
        let outcome = snow_depth(&echoes, MOUNT, -5.0, Some(-5.0));
        assert_eq!(outcome, Outcome::Value { centimetres: 212, quality: Quality::Good });
    }

    #[test]
    fn rime_on_the_infrared_probe_makes_the_value_suspect() {
        let echoes = [echo(2_080.0, -5.0); PULSES];
        let outcome = snow_depth(&echoes, MOUNT, -5.0, None);
        assert_eq!(outcome, Outcome::Value { centimetres: 212, quality: Quality::Suspect });
    }
}
