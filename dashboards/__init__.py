"""The Streamlit dashboard. Sees monitor.reports only; never SQL, never maths."""
