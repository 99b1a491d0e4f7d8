-- Readings database of Ridgeline. One row for each frame and field; time is UTC.

CREATE TABLE stations (
    station_id   text PRIMARY KEY,            -- as customers know it: 'KS-03'
    serial       text NOT NULL UNIQUE,        -- '400-00171'
    model        text NOT NULL CHECK (model IN ('SRC-110', 'SRC-200', 'SRC-400')),
    customer_id  integer NOT NULL REFERENCES customers,
    private      boolean NOT NULL DEFAULT false,   -- position is shown rounded to 1 km
    paused_until date
);

CREATE TABLE readings (
    station_id text        NOT NULL REFERENCES stations,
    time       timestamptz NOT NULL,
    field      text        NOT NULL,
    value      real,                          -- NULL only together with quality 'M'
    quality    char(1)     NOT NULL CHECK (quality IN ('G', 'S', 'H', 'M')),
    arrived    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (station_id, field, time),
    CHECK ((value IS NULL) = (quality = 'M'))
) PARTITION BY RANGE (time);

-- A duplicate frame is normal: gateways deliver at least once.
CREATE FUNCTION keep_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM readings r
               WHERE (r.station_id, r.field, r.time) = (NEW.station_id, NEW.field, NEW.time)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER readings_keep_first BEFORE INSERT ON readings
    FOR EACH ROW EXECUTE FUNCTION keep_first();

-- A value that stands still for three hours while another probe of the station moves (INC-2024-02).
CREATE VIEW frozen AS
SELECT station_id, field, max(time) AS until
FROM readings
WHERE time > now() - interval '3 hours' AND quality = 'G'
GROUP BY station_id, field
HAVING count(*) >= 12
   AND min(value) = max(value)
   AND EXISTS (SELECT FROM readings other
               WHERE other.station_id = readings.station_id AND other.field <> readings.field
                 AND other.time > now() - interval '3 hours'
               GROUP BY other.field HAVING max(other.value) > min(other.value));

-- Retention follows the plan: 30 days for Hut, five years for Valley, none for Summit.
CREATE FUNCTION forget_old_readings() RETURNS bigint LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM readings r USING stations s JOIN customers c USING (customer_id)
        WHERE r.station_id = s.station_id
          AND r.time < now() - CASE c.plan WHEN 'hut' THEN interval '30 days'
                                           WHEN 'valley' THEN interval '5 years'
                                           ELSE interval '1000 years' END
        RETURNING 1)
    SELECT count(*) FROM gone;
$$;
